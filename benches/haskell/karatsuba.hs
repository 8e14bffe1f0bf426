-- The product of two polynomials of 2^depth coefficients in trees, by three products of halves.
module Main (main) where

import Numbers

data Tree = Leaf !U24 | Node !Tree !Tree

numbers :: U24 -> U24 -> Tree
numbers 0 seed = Leaf (seed `mod` 10)
numbers depth seed = Node (numbers (depth - 1) (seed * 3 + 1)) (numbers (depth - 1) (seed * 3 + 2))

add :: Tree -> Tree -> Tree
add (Leaf a) (Leaf b) = Leaf (a + b)
add (Node a b) (Node c d) = Node (add a c) (add b d)
add _ _ = Leaf 0

subtractTree :: Tree -> Tree -> Tree
subtractTree (Leaf a) (Leaf b) = Leaf (a - b)
subtractTree (Node a b) (Node c d) = Node (subtractTree a c) (subtractTree b d)
subtractTree _ _ = Leaf 0

left :: Tree -> Tree
left (Leaf _) = Leaf 0
left (Node a _) = a

right :: Tree -> Tree
right (Leaf _) = Leaf 0
right (Node _ b) = b

-- A product has twice as many coefficients: one more level.
multiply :: Tree -> Tree -> Tree
multiply (Leaf a) (Leaf b) = Node (Leaf (a * b)) (Leaf 0)
multiply (Node a b) (Node c d) =
  Node (Node (left low) (add (right low) (left middle))) (Node (add (left high) (right middle)) (right high))
  where
    low = multiply a c
    high = multiply b d
    both = multiply (add a b) (add c d)
    middle = subtractTree (subtractTree both low) high
multiply _ _ = Leaf 0

checksum :: Tree -> U24
checksum (Leaf value) = value
checksum (Node a b) = checksum a * 7 + checksum b

main :: IO ()
main = do
  depth <- argument
  print (checksum (multiply (numbers depth 1) (numbers depth 2)))
