// Conway's game of life on a torus of 2^depth by 2^depth cells that is a tree of quarters: 16 generations of a random pattern.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

struct grid {
  struct grid *nw, *ne, *sw, *se; // None in a cell.
  uint32_t alive;
};

static struct grid *new(struct grid content) {
  struct grid *grid = malloc(sizeof *grid);
  if (!grid) abort();
  *grid = content;
  return grid;
}

static void delete(struct grid *grid) {
  if (grid->nw) {
    delete(grid->nw);
    delete(grid->ne);
    delete(grid->sw);
    delete(grid->se);
  }
  free(grid);
}

static struct grid *scatter(uint32_t depth, uint32_t seed) {
  if (depth == 0) return new((struct grid){.alive = seed >> 7 & 1});
  struct grid *nw = scatter(depth - 1, u24(seed * 5 + 3));
  struct grid *ne = scatter(depth - 1, u24(seed * 13 + 7));
  struct grid *sw = scatter(depth - 1, u24(seed * 21 + 11));
  struct grid *se = scatter(depth - 1, u24(seed * 29 + 17));
  return new((struct grid){nw, ne, sw, se, 0});
}

// Whether a cell that is alive or not lives next, with so many living neighbours.
static uint32_t rule(uint32_t alive, uint32_t count) { return alive ? (count | 1) == 3 : count == 3; }

// What becomes of a square between its eight neighbours of the same size.
static struct grid *step(const struct grid *c, const struct grid *n, const struct grid *ne, const struct grid *e,
                         const struct grid *se, const struct grid *s, const struct grid *sw, const struct grid *w,
                         const struct grid *nw) {
  if (!c->nw) {
    uint32_t count = n->alive + ne->alive + e->alive + se->alive + s->alive + sw->alive + w->alive + nw->alive;
    return new((struct grid){.alive = rule(c->alive, count)});
  }
  struct grid *to_nw = step(c->nw, n->sw, n->se, c->ne, c->se, c->sw, w->se, w->ne, nw->se);
  struct grid *to_ne = step(c->ne, n->se, ne->sw, e->nw, e->sw, c->se, c->sw, c->nw, n->sw);
  struct grid *to_sw = step(c->sw, c->nw, c->ne, c->se, s->ne, s->nw, sw->ne, w->se, w->ne);
  struct grid *to_se = step(c->se, c->ne, e->nw, e->sw, se->nw, s->ne, s->nw, c->sw, c->nw);
  return new((struct grid){to_nw, to_ne, to_sw, to_se, 0});
}

struct digest {
  uint32_t count, sum;
};

static struct digest digest(const struct grid *grid) {
  if (!grid->nw) return (struct digest){grid->alive, grid->alive};
  struct digest nw = digest(grid->nw), ne = digest(grid->ne), sw = digest(grid->sw), se = digest(grid->se);
  uint32_t sum = nw.sum * 3 + ne.sum * 5 + sw.sum * 7 + se.sum * 11;
  return (struct digest){u24(nw.count + ne.count + sw.count + se.count), u24(sum)};
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct grid *grid = scatter(atoi(argv[1]), 1);
  for (int i = 0; i < 16; i++) {
    struct grid *next = step(grid, grid, grid, grid, grid, grid, grid, grid, grid);
    delete(grid);
    grid = next;
  }
  struct digest result = digest(grid);
  delete(grid);
  printf("(%u, %u)\n", result.count, result.sum);
}
