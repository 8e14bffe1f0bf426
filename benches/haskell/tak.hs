-- Takeuchi's function.
module Main (main) where

import Numbers

tak :: U24 -> U24 -> U24 -> U24
tak x y z
  | y < x = tak (tak (x - 1) y z) (tak (y - 1) z x) (tak (z - 1) x y)
  | otherwise = z

main :: IO ()
main = do
  n <- argument
  print (tak n (n * 2 `div` 3) (n `div` 3))
