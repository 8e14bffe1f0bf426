// Builds a tree of 2^depth numbers and adds them up.

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

static struct tree *build(uint32_t depth, uint32_t x) {
  if (depth == 0) return node(NULL, NULL, x);
  struct tree *left = build(depth - 1, u24(x * 2));
  struct tree *right = build(depth - 1, u24(x * 2 + 1));
  return node(left, right, 0);
}

// The tree is not needed any more then.
static uint32_t sum(struct tree *tree) {
  uint32_t result = tree->value;
  if (tree->left) result = u24(sum(tree->left) + sum(tree->right));
  free(tree);
  return result;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  printf("%u\n", sum(build(atoi(argv[1]), 0)));
}
