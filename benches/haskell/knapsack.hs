-- The greatest value of things that fit into a bag, of n things: each is taken or left.
module Main (main) where

import Numbers

weight :: U24 -> U24
weight i = i * 37 `mod` 23 + 5

value :: U24 -> U24
value i = i * 53 `mod` 41 + 3

best :: U24 -> U24 -> U24
best 0 _ = 0
best i room
  | weight i > room = without
  | otherwise = max without (value i + best (i - 1) (room - weight i))
  where
    without = best (i - 1) room

main :: IO ()
main = do
  n <- argument
  print (best n (n * 8))
