-- The derivative of an expression of x, simplified, and its value.
module Main (main) where

import Numbers

data Expr = X | Number !U24 | Add !Expr !Expr | Multiply !Expr !Expr

build :: U24 -> U24 -> Expr
build 0 i
  | i `mod` 3 == 0 = X
  | otherwise = Number (i `mod` 5)
build depth i
  | even i = Add (build (depth - 1) (i * 3 + 1)) (build (depth - 1) (i * 5 + 2))
  | otherwise = Multiply (build (depth - 1) (i * 7 + 3)) (build (depth - 1) (i * 3 + 2))

derive :: Expr -> Expr
derive X = Number 1
derive (Number _) = Number 0
derive (Add a b) = Add (derive a) (derive b)
derive (Multiply a b) = Add (Multiply (derive a) b) (Multiply a (derive b))

add :: Expr -> Expr -> Expr
add (Number a) (Number b) = Number (a + b)
add (Number 0) b = b
add a b = Add a b

multiply :: Expr -> Expr -> Expr
multiply (Number 0) _ = Number 0
multiply (Number 1) b = b
multiply a b = Multiply a b

simplify :: Expr -> Expr
simplify X = X
simplify (Number n) = Number n
simplify (Add a b) = add (simplify a) (simplify b)
simplify (Multiply a b) = multiply (simplify a) (simplify b)

size :: Expr -> U24
size X = 1
size (Number _) = 1
size (Add a b) = 1 + size a + size b
size (Multiply a b) = 1 + size a + size b

value :: Expr -> U24 -> U24
value X x = x
value (Number n) _ = n
value (Add a b) x = value a x + value b x
value (Multiply a b) x = value a x * value b x

main :: IO ()
main = do
  depth <- argument
  let d = simplify (derive (simplify (build depth 1)))
  putStrLn (pair (show (size d)) (show (value d 3)))
