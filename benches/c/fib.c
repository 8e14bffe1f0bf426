// The nth Fibonacci number by its definition.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

static uint32_t fib(uint32_t n) {
  if (n < 2) return n;
  return u24(fib(n - 1) + fib(n - 2));
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  printf("%u\n", fib(atoi(argv[1])));
}
