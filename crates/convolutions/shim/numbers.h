// Activations as fp32 or bf16 numbers, in loops that are compiled for several instruction sets.

#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#define TENGEN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TENGEN_CLONES
#endif
#define TENGEN_INLINE __attribute__((always_inline)) static inline

TENGEN_INLINE float load(float value) { return value; }

TENGEN_INLINE float load(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

TENGEN_INLINE void store(float *place, float value) { *place = value; }

// Rounds to nearest, ties to even; a NaN stays one.
TENGEN_INLINE void store(uint16_t *place, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  *place = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : uint16_t(rounded);
}
