-- An interpreter of a small stack machine runs a program that counts down from n and adds up squares.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Numbers

data Instruction
  = Push !U24
  | Load !U24
  | Store !U24
  | Add
  | Subtract
  | Multiply
  | JumpIfZero !U24
  | Jump !U24
  | Halt

-- What is at a place of the program: a number is counted down until it is 0.
fetch :: [Instruction] -> U24 -> Instruction
fetch [] _ = Halt
fetch (first : _) 0 = first
fetch (_ : rest) at = fetch rest (at - 1)

pop :: [U24] -> (U24, [U24])
pop [] = (0, [])
pop (top : rest) = (top, rest)

operate :: (U24 -> U24 -> U24) -> [U24] -> [U24]
operate f stack = result : others
  where
    (b, rest) = pop stack
    (a, others) = pop rest
    !result = f a b

step :: [Instruction] -> U24 -> [U24] -> U24 -> U24 -> U24
step code at stack !x !y = case fetch code at of
  Push n -> step code (at + 1) (n : stack) x y
  Load 0 -> step code (at + 1) (x : stack) x y
  Load _ -> step code (at + 1) (y : stack) x y
  Store 0 -> step code (at + 1) rest top y
  Store _ -> step code (at + 1) rest x top
  Add -> step code (at + 1) (operate (+) stack) x y
  Subtract -> step code (at + 1) (operate (-) stack) x y
  Multiply -> step code (at + 1) (operate (*) stack) x y
  JumpIfZero to
    | top == 0 -> step code to rest x y
    | otherwise -> step code (at + 1) rest x y
  Jump to -> step code to stack x y
  Halt -> y
  where
    (top, rest) = pop stack

program :: U24 -> [Instruction]
program n =
  [ Push n, Store 0
  , Load 0, JumpIfZero 13
  , Load 1, Load 0, Load 0, Multiply, Add, Store 1
  , Load 0, Push 1, Jump 14
  , Halt
  , Subtract, Store 0, Jump 2
  ]

main :: IO ()
main = do
  n <- argument
  print (step (program n) 0 [] 0 0)
