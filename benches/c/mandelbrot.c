// Counts, for 256x256 points of the plane, how many of at most `limit` steps z -> z*z + c stay near 0, and adds the counts.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

static uint32_t steps(uint32_t left, float x, float y, float cx, float cy) {
  if (left == 0) return 0;
  float xx = f24(x * x), yy = f24(y * y);
  if (f24(xx + yy) > 4.0f) return 0;
  return u24(1 + steps(left - 1, f24(f24(xx - yy) + cx), f24(f24(f24(2.0f * x) * y) + cy), cx, cy));
}

static uint32_t point(uint32_t limit, uint32_t i) {
  float cx = f24(f24(f24(i % 256) * 0.01171875f) - 2.25f);
  float cy = f24(f24(f24(i / 256) * 0.01171875f) - 1.5f);
  return steps(limit, 0.0f, 0.0f, cx, cy);
}

static uint32_t points(uint32_t limit, uint32_t depth, uint32_t i) {
  if (depth == 0) return point(limit, i);
  return u24(points(limit, depth - 1, u24(i * 2)) + points(limit, depth - 1, u24(i * 2 + 1)));
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  printf("%u\n", points(atoi(argv[1]), 16, 0));
}
