// Sorts 2^depth numbers in the leaves of a perfect binary tree with Batcher's bitonic network, in place.

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

static struct tree *scatter(uint32_t depth, uint32_t seed) {
  if (depth == 0) return node(NULL, NULL, u24(seed * 75 + 74) % 65537);
  struct tree *left = scatter(depth - 1, u24(seed * 5 + 3));
  struct tree *right = scatter(depth - 1, u24(seed * 7 + 1));
  return node(left, right, 0);
}

// Puts the smaller of each pair of leaves into the first tree, or into the second if `down` is 1.
static void exchange(uint32_t down, struct tree *a, struct tree *b) {
  if (!a->left) {
    if ((a->value > b->value) ^ down) {
      uint32_t value = a->value;
      a->value = b->value;
      b->value = value;
    }
    return;
  }
  exchange(down, a->left, b->left);
  exchange(down, a->right, b->right);
}

// Sorts a bitonic tree.
static void settle(uint32_t down, struct tree *tree) {
  if (!tree->left) return;
  exchange(down, tree->left, tree->right);
  settle(down, tree->left);
  settle(down, tree->right);
}

static void sort(uint32_t down, struct tree *tree) {
  if (!tree->left) return;
  sort(0, tree->left);
  sort(1, tree->right);
  settle(down, tree);
}

struct digest {
  uint32_t count, sum;
};

// The tree is not needed any more then.
static struct digest digest(struct tree *tree) {
  struct digest result = {1, tree->value};
  if (tree->left) {
    struct digest left = digest(tree->left), right = digest(tree->right);
    result = (struct digest){u24(left.count + right.count), u24(left.sum * 31 + right.sum)};
  }
  free(tree);
  return result;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct tree *tree = scatter(atoi(argv[1]), 1);
  sort(0, tree);
  struct digest result = digest(tree);
  printf("(%u, %u)\n", result.count, result.sum);
}
