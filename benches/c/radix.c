// Sorts 2^depth numbers by their bits: each becomes a path in a tree of bits, and the paths are merged.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

struct tree {
  struct tree *left, *right; // None at a leaf.
  uint32_t value;
};

static struct tree *node(struct tree *left, struct tree *right, uint32_t value) {
  struct tree *tree = malloc(sizeof *tree);
  if (!tree) abort();
  *tree = (struct tree){left, right, value};
  return tree;
}

static struct tree *scatter(uint32_t depth, uint32_t i) {
  if (depth == 0) return node(NULL, NULL, u24(i * 6364137 + 1442695));
  struct tree *left = scatter(depth - 1, u24(i * 2));
  struct tree *right = scatter(depth - 1, u24(i * 2 + 1));
  return node(left, right, 0);
}

// A set of numbers: none is the empty one, `full` all of no bits.
struct bits {
  struct bits *zero, *one;
};

static struct bits full;

static struct bits *branch(struct bits *zero, struct bits *one) {
  struct bits *bits = malloc(sizeof *bits);
  if (!bits) abort();
  *bits = (struct bits){zero, one};
  return bits;
}

static struct bits *path(uint32_t n, uint32_t bit, struct bits *bits) {
  if (bit == 0) return bits;
  if (n & bit) return path(n, u24(bit << 1), branch(NULL, bits));
  return path(n, u24(bit << 1), branch(bits, NULL));
}

// Into the first set go those of the second, which is not needed any more then.
static struct bits *merge(struct bits *a, struct bits *b) {
  if (!a) return b;
  if (!b) return a;
  if (a == &full || b == &full) return &full;
  a->zero = merge(a->zero, b->zero);
  a->one = merge(a->one, b->one);
  free(b);
  return a;
}

// The tree is not needed any more then.
static struct bits *to_bits(struct tree *tree) {
  struct bits *result;
  if (tree->left) {
    struct bits *left = to_bits(tree->left), *right = to_bits(tree->right);
    result = merge(left, right);
  } else {
    result = path(tree->value, 1, &full);
  }
  free(tree);
  return result;
}

struct digest {
  uint32_t count, sum;
};

// The set is not needed any more then.
static struct digest digest(uint32_t n, struct bits *bits) {
  if (!bits) return (struct digest){0, 0};
  if (bits == &full) return (struct digest){1, n};
  struct digest zero = digest(u24(n * 2), bits->zero), one = digest(u24(n * 2 + 1), bits->one);
  free(bits);
  return (struct digest){u24(zero.count + one.count), u24(zero.sum * 31 + one.sum)};
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct digest result = digest(0, to_bits(scatter(atoi(argv[1]), 0)));
  printf("(%u, %u)\n", result.count, result.sum);
}
