-- Evaluates terms of the lambda calculus with closures and environments: a product of Church numerals.
{-# LANGUAGE BangPatterns #-}

module Main (main) where

import Numbers

data Term = Variable !U24 | Lambda !Term | Apply !Term !Term | Number !U24 | Successor

data Value = Closure !Term ![Value] | Numeral !U24 | Increment

look :: [Value] -> U24 -> Value
look [] _ = Numeral 0
look (value : _) 0 = value
look (_ : values) index = look values (index - 1)

evaluate :: Term -> [Value] -> Value
evaluate (Variable index) values = look values index
evaluate (Lambda body) values = Closure body values
evaluate (Apply function operand) values = apply f x
  where
    !f = evaluate function values
    !x = evaluate operand values
evaluate (Number value) _ = Numeral value
evaluate Successor _ = Increment

apply :: Value -> Value -> Value
apply (Closure body values) x = evaluate body (x : values)
apply (Numeral value) _ = Numeral value
apply Increment (Numeral value) = Numeral (value + 1)
apply Increment _ = Numeral 0

-- Applies the variable 1 so many times to the variable 0.
times :: U24 -> Term
times 0 = Variable 0
times n = Apply (Variable 1) (times (n - 1))

numeral :: U24 -> Term
numeral n = Lambda (Lambda (times n))

-- m times n: the function is applied n times, m times over.
multiply :: Term -> Term -> Term
multiply m n = Lambda (Apply m (Apply n (Variable 0)))

main :: IO ()
main = do
  n <- argument
  let square = multiply (numeral n) (numeral n)
      cube = multiply (numeral n) square
  print $ case evaluate (Apply (Apply cube Successor) (Number 0)) [] of
    Numeral value -> value
    _ -> 0
