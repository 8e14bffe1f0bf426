// Sorts a linked list of n numbers by merging, in place.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

struct list {
  struct list *tail;
  uint32_t head;
};

static struct list *scatter(uint32_t n, uint32_t seed) {
  struct list *first = NULL, **end = &first;
  for (; n > 0; n--) {
    struct list *cell = malloc(sizeof *cell);
    if (!cell) abort();
    *cell = (struct list){NULL, seed};
    *end = cell;
    end = &cell->tail;
    seed = u24(seed * 4005 + 12345);
  }
  return first;
}

static struct list *merge(struct list *a, struct list *b) {
  struct list *first, **end = &first;
  while (a && b) {
    struct list **smaller = a->head < b->head ? &a : &b;
    *end = *smaller;
    end = &(*smaller)->tail;
    *smaller = *end;
  }
  *end = a ? a : b;
  return first;
}

static struct list *sort(struct list *list) {
  if (!list || !list->tail) return list;
  struct list *halves[2] = {NULL, NULL}, **ends[2] = {&halves[0], &halves[1]};
  for (int i = 0; list; list = list->tail, i ^= 1) {
    *ends[i] = list;
    ends[i] = &list->tail;
  }
  *ends[0] = *ends[1] = NULL;
  struct list *a = sort(halves[0]), *b = sort(halves[1]);
  return merge(a, b);
}

// The list is not needed any more then.
static uint32_t digest(struct list *list) {
  uint32_t sum = 0;
  while (list) {
    struct list *tail = list->tail;
    sum = u24(sum * 31 + list->head);
    free(list);
    list = tail;
  }
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  printf("%u\n", digest(sort(scatter(atoi(argv[1]), 1))));
}
