-- How many primes there are up to n, by striking out multiples from a list.
module Main (main) where

import Numbers

range :: U24 -> U24 -> [U24]
range a b
  | a > b = []
  | otherwise = a : range (a + 1) b

strike :: U24 -> [U24] -> [U24]
strike p = filter (\n -> n `mod` p /= 0)

sieve :: [U24] -> U24 -> U24
sieve [] _ = 0
sieve (p : rest) most
  | p * p > most = 1 + fromIntegral (length rest)
  | otherwise = 1 + sieve (strike p rest) most

main :: IO ()
main = do
  n <- argument
  print (sieve (range 2 n) n)
