// Builds an arithmetic expression of one variable with 2^depth leaves and adds up its values at 32 places.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

struct expression {
  enum { NUMBER, VARIABLE, ADD, SUB, MUL } kind;
  uint32_t value;
  struct expression *left, *right;
};

static struct expression *new(struct expression content) {
  struct expression *e = malloc(sizeof *e);
  if (!e) abort();
  *e = content;
  return e;
}

static struct expression *build(uint32_t depth, uint32_t seed) {
  if (depth == 0) {
    if (seed & 32) return new((struct expression){.kind = VARIABLE});
    return new((struct expression){.kind = NUMBER, .value = seed & 15});
  }
  struct expression *left = build(depth - 1, u24(seed * 5 + 3));
  struct expression *right = build(depth - 1, u24(seed * 13 + 7));
  return new((struct expression){.kind = ADD + (seed >> 4) % 3, .left = left, .right = right});
}

static uint32_t value(const struct expression *e, uint32_t x) {
  switch (e->kind) {
  case NUMBER: return e->value;
  case VARIABLE: return x;
  case ADD: return u24(value(e->left, x) + value(e->right, x));
  case SUB: return u24(value(e->left, x) - value(e->right, x));
  case MUL: return u24(value(e->left, x) * value(e->right, x));
  }
  abort();
}

static void delete(struct expression *e) {
  if (e->left) {
    delete(e->left);
    delete(e->right);
  }
  free(e);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct expression *e = build(atoi(argv[1]), 1);
  uint32_t total = 0;
  for (uint32_t x = 0; x < 32; x++) total = u24(total + value(e, x));
  delete(e);
  printf("%u\n", total);
}
