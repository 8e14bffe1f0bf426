//! What one scalar operation gives: the meaning of arithmetic, shared by the interpreter and constant folding.
