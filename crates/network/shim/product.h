// Products of rows with tables. Each row is computed alone and in the same order, so that its result does not depend on
// the rest of its batch, as it does in BLAS libraries.

#pragma once

#include <algorithm>
#include <cstdint>

#include "numbers.h"

// Columns of a table whose sums fit the processor's registers. Rows of tables continue for as many zeros.
constexpr int64_t kColumns = 64;

// out += x * table, where the table is [inputs, width] with rows that are `stride` apart; computes up to kColumns - 1
// columns more than `width`.
TENGEN_INLINE void add_product(const float *x, int64_t inputs, const float *table, int64_t width, int64_t stride,
                               float *out) {
  for (int64_t first = 0; first < width; first += kColumns) {
    float sums[kColumns];  // stays in registers
    std::copy_n(out + first, kColumns, sums);
    for (int64_t i = 0; i < inputs; ++i) {
      const float factor = x[i], *row = table + i * stride + first;
      for (int64_t j = 0; j < kColumns; ++j) sums[j] += factor * row[j];
    }
    std::copy_n(sums, kColumns, out + first);
  }
}
