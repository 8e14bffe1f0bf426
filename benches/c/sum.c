// Adds 2^depth numbers at the leaves of a tree of calls.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

static uint32_t sum(uint32_t depth, uint32_t x) {
  if (depth == 0) return x;
  return u24(sum(depth - 1, u24(x * 2)) + sum(depth - 1, u24(x * 3 + 1)));
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  printf("%u\n", sum(atoi(argv[1]), 0));
}
