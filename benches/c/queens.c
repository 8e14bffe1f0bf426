// In how many ways n queens stand on a board of n by n squares so that none attacks another.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

static uint32_t columns(uint32_t full, uint32_t free, uint32_t down, uint32_t left, uint32_t right);

static uint32_t rows(uint32_t full, uint32_t down, uint32_t left, uint32_t right) {
  if (down == full) return 1;
  uint32_t attacked = (down | left | right) & full;
  return columns(full, full ^ attacked, down, left, right);
}

static uint32_t columns(uint32_t full, uint32_t free, uint32_t down, uint32_t left, uint32_t right) {
  if (free == 0) return 0;
  uint32_t queen = free & u24(-free);
  uint32_t here = rows(full, down | queen, u24((left | queen) << 1), (right | queen) >> 1);
  return u24(here + columns(full, free ^ queen, down, left, right));
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  printf("%u\n", rows(u24((1u << atoi(argv[1])) - 1), 0, 0, 0));
}
