// Eight bodies in a plane that attract each other, n steps of a thousandth of a second.

#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 8 };

struct body {
  float x, y, vx, vy, mass;
};

static void scatter(struct body *bodies, uint32_t seed) {
  for (int i = 0; i < BODIES; i++, seed = u24(seed * 4005 + 12345)) {
    float x = f24((seed >> 3 & 1023) / 1024.0f);
    float y = f24((seed >> 11 & 1023) / 1024.0f);
    bodies[i] = (struct body){x, y, 0.0f, 0.0f, (seed & 7) + 1};
  }
}

static void move(const struct body *bodies, struct body *moved) {
  for (int i = 0; i < BODIES; i++) {
    struct body body = bodies[i];
    float ax = 0.0f, ay = 0.0f;
    for (int j = 0; j < BODIES; j++) {
      float dx = f24(bodies[j].x - body.x), dy = f24(bodies[j].y - body.y);
      float distance = f24(f24(f24(dx * dx) + f24(dy * dy)) + 0.015625f);
      float force = f24(bodies[j].mass / distance);
      ax = f24(ax + f24(dx * force));
      ay = f24(ay + f24(dy * force));
    }
    float vx = f24(body.vx + f24(ax * 0.0009765625f)), vy = f24(body.vy + f24(ay * 0.0009765625f));
    float x = f24(body.x + f24(vx * 0.0009765625f)), y = f24(body.y + f24(vy * 0.0009765625f));
    moved[i] = (struct body){x, y, vx, vy, body.mass};
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct body bodies[BODIES], moved[BODIES];
  scatter(bodies, 1);
  for (int n = atoi(argv[1]); n > 0; n--) {
    move(bodies, moved);
    memcpy(bodies, moved, sizeof bodies);
  }
  uint32_t sum = 0;
  for (int i = 0; i < BODIES; i++) {
    uint32_t x = f24(f24(bodies[i].x + 16.0f) * 1024.0f), y = f24(f24(bodies[i].y + 16.0f) * 1024.0f);
    sum = u24(u24(sum * 31 + x) * 31 + y);
  }
  printf("%u\n", sum);
}
