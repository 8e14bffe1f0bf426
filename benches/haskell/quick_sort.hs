-- Quicksort of a list of n numbers: the first one is the pivot.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Data.List (foldl')
import Numbers

numbers :: U24 -> U24 -> [U24]
numbers 0 _ = []
numbers n seed = first : numbers (n - 1) (seed * 4005 + 12345)
  where
    !first = seed `shiftRight` 4

sort :: [U24] -> [U24]
sort [] = []
sort (pivot : rest) = sort (filter (< pivot) rest) ++ pivot : sort (filter (>= pivot) rest)

checksum :: [U24] -> U24
checksum = foldl' (\total x -> total * 31 + x) 0

main :: IO ()
main = do
  n <- argument
  print (checksum (sort (numbers n 7)))
