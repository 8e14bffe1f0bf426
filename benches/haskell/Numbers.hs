-- Numbers of 24 bits as Bend has them, how they are printed, and the argument of a program.
{-# LANGUAGE GeneralizedNewtypeDeriving #-}

module Numbers (U24, I24, toI24, shiftRight, xor, argument, pair) where

import qualified Data.Bits as Bits
import System.Environment (getArgs)

-- Unsigned, from 0 to 16777215.
newtype U24 = U24 Word
  deriving (Eq, Ord, Enum, Real, Integral)

-- Signed, in two's complement.
newtype I24 = I24 Int
  deriving (Eq, Ord)

u24 :: Word -> U24
u24 n = U24 (n Bits..&. 0xFFFFFF)

i24 :: Int -> I24
i24 n = I24 ((n `Bits.unsafeShiftL` 40) `Bits.unsafeShiftR` 40)

instance Num U24 where
  U24 a + U24 b = u24 (a + b)
  U24 a - U24 b = u24 (a - b)
  U24 a * U24 b = u24 (a * b)
  negate (U24 a) = u24 (negate a)
  abs = id
  signum (U24 a) = U24 (signum a)
  fromInteger n = u24 (fromInteger n)

instance Num I24 where
  I24 a + I24 b = i24 (a + b)
  I24 a - I24 b = i24 (a - b)
  I24 a * I24 b = i24 (a * b)
  negate (I24 a) = i24 (negate a)
  abs (I24 a) = i24 (abs a)
  signum (I24 a) = I24 (signum a)
  fromInteger n = i24 (fromInteger n)

instance Show U24 where
  show (U24 n) = show n

-- Each has its sign.
instance Show I24 where
  show (I24 n) = if n < 0 then show n else '+' : show n

toI24 :: U24 -> I24
toI24 (U24 n) = i24 (fromIntegral n)

shiftRight :: U24 -> Int -> U24
shiftRight (U24 n) by = U24 (n `Bits.unsafeShiftR` by)

xor :: U24 -> U24 -> U24
xor (U24 a) (U24 b) = U24 (a `Bits.xor` b)

-- The size of the job.
argument :: IO U24
argument = do
  arguments <- getArgs
  case arguments of
    [n] -> return (fromInteger (read n))
    _ -> fail "the argument is a number"

pair :: String -> String -> String
pair a b = "(" ++ a ++ ", " ++ b ++ ")"
