-- Writes an expression with brackets as text, parses it again, and computes its value.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Numbers

data Token = Number !U24 | Plus | Times | Open | Close

text :: U24 -> U24 -> String -> String
text 0 i rest = digit : rest
  where
    !digit = toEnum (fromEnum '0' + fromIntegral (i `mod` 10))
text depth i rest = '(' : text (depth - 1) (i * 3 + 1) (sign : text (depth - 1) (i * 5 + 2) (')' : rest))
  where
    sign = if even i then '+' else '*'

token :: Char -> Token
token '+' = Plus
token '*' = Times
token '(' = Open
token ')' = Close
token c = Number (fromIntegral (fromEnum c - fromEnum '0'))

-- The value of the expression at the front, and what follows it.
expression :: [Token] -> (U24, [Token])
expression [] = (0, [])
expression (Number value : rest) = (value, rest)
expression (Open : rest) = case expression rest of
  (a, others) -> operation a others
expression (_ : rest) = (0, rest)

operation :: U24 -> [Token] -> (U24, [Token])
operation !a [] = (a, [])
operation a (sign : tokens) = case expression tokens of
  (b, rest) -> (value, drop 1 rest)
    where
      !value = case sign of
        Plus -> a + b
        Times -> a * b
        _ -> a

main :: IO ()
main = do
  depth <- argument
  print (fst (expression (map token (text depth 1 ""))))
