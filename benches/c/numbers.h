// Bend's 24-bit numbers in C.

#include <stdint.h>
#include <string.h>

// A number modulo 2^24.
static inline uint32_t u24(uint32_t x) { return x & 0xffffff; }

// A float rounded to 24 bits: a sign, eight bits of exponent, fifteen of fraction; ties go to the even number.
static inline float f24(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7f + (bits >> 8 & 1)) & ~0xffu;
  memcpy(&x, &bits, sizeof x);
  return x;
}
