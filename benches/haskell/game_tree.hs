-- The value of a game for the player to move, and the number of positions looked at: a made-up game where a position is a number,
-- each has three moves, and the one who is to move wants the greatest value.
module Main (main) where

import Numbers

data Outcome = Outcome !I24 !U24

score :: U24 -> I24
score position = toI24 (position `mod` 101) - 50

move :: U24 -> U24 -> U24
move position which = position * 5 + which * 7919 + 1

better :: Outcome -> Outcome -> Outcome
better (Outcome x m) (Outcome y n) = Outcome (max x y) (m + n)

opposite :: Outcome -> Outcome
opposite (Outcome x n) = Outcome (negate x) n

play :: U24 -> U24 -> Outcome
play 0 position = Outcome (score position) 1
play depth position = better (better (after 0) (after 1)) (after 2)
  where
    after which = opposite (play (depth - 1) (move position which))

main :: IO ()
main = do
  depth <- argument
  let Outcome value positions = play depth 12345
  putStrLn (pair (show value) (show positions))
