-- All ways to put n queens on a board, each a list of columns; prints how many there are and a checksum of them.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Data.List (foldl')
import Numbers

range :: U24 -> [U24]
range 0 = []
range n = n : range (n - 1)

isSafe :: U24 -> [U24] -> U24 -> Bool
isSafe _ [] _ = True
isSafe queen (other : placed) distance
  | other == queen = False
  | other == queen + distance = False
  | other + distance == queen = False
  | otherwise = isSafe queen placed (distance + 1)

place :: U24 -> U24 -> [U24] -> [[U24]]
place 0 _ placed = [placed]
place rows n placed = tryEach (rows - 1) n (range n) placed

tryEach :: U24 -> U24 -> [U24] -> [U24] -> [[U24]]
tryEach _ _ [] _ = []
tryEach rows n (column : columns) placed
  | isSafe column placed 1 = place rows n (column : placed) ++ others
  | otherwise = others
  where
    others = tryEach rows n columns placed

checksum :: [U24] -> U24
checksum = foldl' (\total x -> total * 17 + x) 0

count :: [[U24]] -> U24 -> U24 -> (U24, U24)
count [] !boards !total = (boards, total)
count (board : others) boards total = count others (boards + 1) (total `xor` checksum board)

main :: IO ()
main = do
  n <- argument
  let (boards, total) = count (place n n []) 0 0
  putStrLn (pair (show boards) (show total))
