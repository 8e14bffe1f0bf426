-- Many trees of several depths are built, counted and dropped, while one stays.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Data.List (intercalate)
import Numbers

data Node = Nil | Pair !Node !Node

build :: U24 -> Node
build 0 = Pair Nil Nil
build depth = Pair (build (depth - 1)) (build (depth - 1))

count :: Node -> U24
count Nil = 0
count (Pair left right) = 1 + count left + count right

many :: U24 -> U24 -> U24
many 0 _ = 0
many times depth = count (build depth) + many (times - 1) depth

series :: U24 -> U24 -> [(U24, U24)]
series depth most
  | depth > most = []
  | otherwise = (depth, total) : series (depth + 2) most
  where
    !total = many (2 ^ (most - depth)) depth

main :: IO ()
main = do
  most <- argument
  let !longLived = build most
      sums = [pair (show depth) (show total) | (depth, total) <- series 4 most]
  putStrLn (pair ("[" ++ intercalate ", " sums ++ "]") (show (count longLived)))
