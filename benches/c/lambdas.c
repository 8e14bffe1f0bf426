// Functions made of functions: 2^depth small ones are composed to one, which is then applied n times to its own result.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

// A function and what it needs to know.
struct closure {
  uint32_t (*code)(const struct closure *self, uint32_t x);
  uint32_t seed;
  struct closure *f, *g;
};

static struct closure *new(struct closure content) {
  struct closure *closure = malloc(sizeof *closure);
  if (!closure) abort();
  *closure = content;
  return closure;
}

static uint32_t apply(const struct closure *f, uint32_t x) { return f->code(f, x); }

static uint32_t linear(const struct closure *self, uint32_t x) { return u24(x * (self->seed | 1) + 1); }

static uint32_t masked(const struct closure *self, uint32_t x) { return x ^ self->seed; }

static uint32_t both(const struct closure *self, uint32_t x) { return apply(self->g, apply(self->f, x)); }

static struct closure *composed(uint32_t depth, uint32_t seed) {
  if (depth == 0) return new((struct closure){.code = seed & 8 ? linear : masked, .seed = seed});
  struct closure *f = composed(depth - 1, u24(seed * 5 + 3));
  struct closure *g = composed(depth - 1, u24(seed * 13 + 7));
  return new((struct closure){.code = both, .f = f, .g = g});
}

static void delete(struct closure *closure) {
  if (closure->f) {
    delete(closure->f);
    delete(closure->g);
  }
  free(closure);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct closure *f = composed(atoi(argv[1]), 1);
  uint32_t x = 1;
  for (int i = 0; i < 32; i++) x = apply(f, x);
  delete(f);
  printf("%u\n", x);
}
