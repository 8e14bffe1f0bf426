-- How long the longest common subsequence of two strings of n symbols is, row by row of a table.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Numbers

data List = Nil | Cons !U24 !List

text :: U24 -> U24 -> List
text 0 _ = Nil
text n seed = Cons ((seed `shiftRight` 7) `mod` 4) (text (n - 1) (seed * 4005 + 12345))

zeros :: List -> List
zeros Nil = Cons 0 Nil
zeros (Cons _ rest) = Cons 0 (zeros rest)

-- The next row: the last argument is the row before, from the element to the upper left on.
row :: U24 -> List -> U24 -> U24 -> List -> List
row symbol (Cons other others) left corner (Cons upper above) = Cons here (row symbol others here upper above)
  where
    here = if symbol == other then corner + 1 else max left upper
row _ _ _ _ _ = Nil

rows :: List -> List -> List -> List
rows Nil _ above = above
rows (Cons symbol a) b above = rows a b (row symbol b 0 0 above)

final :: List -> U24 -> U24
final Nil !before = before
final (Cons value rest) _ = final rest value

main :: IO ()
main = do
  n <- argument
  let a = text n 1
      b = text n 99
  print (final (rows a b (zeros b)) 0)
