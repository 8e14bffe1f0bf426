-- Numbers the leaves of a tree from left to right with a counter in a state monad.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Numbers

newtype State s a = State {run :: s -> (a, s)}

instance Functor (State s) where
  fmap f m = State $ \s -> case run m s of
    (x, t) -> (f x, t)

instance Applicative (State s) where
  pure x = State $ \s -> (x, s)
  m <*> n = State $ \s -> case run m s of
    (f, t) -> case run n t of
      (x, u) -> (f x, u)

instance Monad (State s) where
  m >>= k = State $ \s -> case run m s of
    (x, t) -> run (k x) t

data Tree = Leaf !U24 | Node !Tree !Tree

next :: State U24 U24
next = State $ \s -> let !t = s + 1 in (s, t)

build :: U24 -> Tree
build 0 = Leaf 0
build depth = Node (build (depth - 1)) (build (depth - 1))

number :: Tree -> State U24 Tree
number (Leaf _) = do
  n <- next
  return $! Leaf n
number (Node a b) = do
  left <- number a
  right <- number b
  return $! Node left right

checksum :: Tree -> U24
checksum (Leaf value) = value
checksum (Node a b) = checksum a * 3 + checksum b

main :: IO ()
main = do
  depth <- argument
  let (tree, count) = run (number (build depth)) 0
  putStrLn (pair (show (checksum tree)) (show count))
