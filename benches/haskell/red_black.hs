-- Puts n numbers into a red-black tree, and prints how many there are and how deep the tree is.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Numbers

data Colour = Red | Black

data Set = Empty | Node !Colour !Set !U24 !Set

-- A black node whose left part may have two red nodes in a row.
balanceLeft :: Set -> U24 -> Set -> Set
balanceLeft (Node Red (Node Red a x b) y c) z d = Node Red (Node Black a x b) y (Node Black c z d)
balanceLeft (Node Red a x (Node Red b y c)) z d = Node Red (Node Black a x b) y (Node Black c z d)
balanceLeft a x b = Node Black a x b

balanceRight :: Set -> U24 -> Set -> Set
balanceRight a x (Node Red b y (Node Red c z d)) = Node Red (Node Black a x b) y (Node Black c z d)
balanceRight a x (Node Red (Node Red b y c) z d) = Node Red (Node Black a x b) y (Node Black c z d)
balanceRight a x b = Node Black a x b

put :: Set -> U24 -> Set
put Empty key = Node Red Empty key Empty
put set@(Node Red left other right) key
  | key < other = Node Red (put left key) other right
  | key > other = Node Red left other (put right key)
  | otherwise = set
put set@(Node Black left other right) key
  | key < other = balanceLeft (put left key) other right
  | key > other = balanceRight left other (put right key)
  | otherwise = set

blacken :: Set -> Set
blacken Empty = Empty
blacken (Node _ left key right) = Node Black left key right

fill :: U24 -> U24 -> Set -> Set
fill 0 _ !set = set
fill n seed set = fill (n - 1) (seed * 4005 + 12345) (blacken (put set (seed `shiftRight` 3)))

measure :: Set -> (U24, U24)
measure Empty = (0, 0)
measure (Node _ left _ right) = (size, depth)
  where
    (m, x) = measure left
    (n, y) = measure right
    !size = m + n + 1
    !depth = max x y + 1

main :: IO ()
main = do
  n <- argument
  let (size, depth) = measure (fill n 5 Empty)
  putStrLn (pair (show size) (show depth))
