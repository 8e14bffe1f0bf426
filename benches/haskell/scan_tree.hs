-- Prefix sums of the 2^depth leaves of a tree: sums on the way up, and what lies to the left on the way down.
module Main (main) where

import Numbers

data Tree = Leaf !U24 | Node !Tree !Tree

data Sums = One !U24 | Both !U24 !Sums !Sums

leaves :: U24 -> U24 -> Tree
leaves 0 i = Leaf (i * i `mod` 1000)
leaves depth i = Node (leaves (depth - 1) (i * 2)) (leaves (depth - 1) (i * 2 + 1))

total :: Sums -> U24
total (One value) = value
total (Both value _ _) = value

up :: Tree -> Sums
up (Leaf value) = One value
up (Node a b) = Both (total left + total right) left right
  where
    left = up a
    right = up b

down :: Sums -> U24 -> Tree
down (One value) before = Leaf (before + value)
down (Both _ left right) before = Node (down left before) (down right (before + total left))

checksum :: Tree -> U24
checksum (Leaf value) = value
checksum (Node a b) = checksum a * 3 + checksum b

main :: IO ()
main = do
  depth <- argument
  print (checksum (down (up (leaves depth 1)) 0))
