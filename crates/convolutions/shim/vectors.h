// Vectors of floats, and products of matrices whose sums stay in registers.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "numbers.h"

namespace tengen {

typedef float V8 __attribute__((vector_size(32)));
typedef float V16 __attribute__((vector_size(64)));

template <class V>
constexpr int64_t kWidth = int64_t(sizeof(V) / sizeof(float));

template <class V>
TENGEN_INLINE V read(const float *place) {
  V value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <class V>
TENGEN_INLINE void write(float *place, V value) {
  std::memcpy(place, &value, sizeof value);
}

// The left matrix of a product: the number in row r for step d is data[r * row + d * step].
struct Left {
  const float *data;
  int64_t row, step;

  Left from(int64_t first) const { return {data + first * row, row, step}; }
};

// The right matrix of a product: the numbers for a step d are data[d * step], data[d * step + 1], ...
struct Right {
  const float *data;
  int64_t step;
};

// All columns of a right matrix, row after row.
struct Rows {
  const float *data;
  int64_t width;

  Right columns(int64_t first, int64_t, int64_t) const { return {data + first, width}; }
};

// The same in panels, one after the other, of as many columns as are computed together; the last may be narrower. So
// memory is read in its order.
struct Panels {
  const float *data;

  Right columns(int64_t first, int64_t count, int64_t steps) const { return {data + first * steps, count}; }
};

// Where a panel matrix with so many rows and columns has a number.
inline int64_t place_in_panels(int64_t row, int64_t column, int64_t rows, int64_t columns, int64_t panel) {
  const int64_t first = column / panel * panel;
  return first * rows + row * std::min(panel, columns - first) + (column - first);
}

// The result: the numbers of a row r are data[r * row], data[r * row + 1], ...; it starts from what is there or from 0.
struct Sums {
  float *data;
  int64_t row;
  bool add;

  Sums from(int64_t first, int64_t column) const { return {data + first * row + column, row, add}; }
};

// R rows and N vectors of columns. Each sum is computed in the order of the steps.
template <class V, int R, int N>
TENGEN_INLINE void product(int64_t steps, Left left, Right right, Sums out) {
  V sums[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sums[r][n] = out.add ? read<V>(out.data + r * out.row + n * kWidth<V>) : V{};
  const float *factors = left.data, *values = right.data;
  for (int64_t step = 0; step < steps; ++step, factors += left.step, values += right.step) {
    V columns[N];
    for (int n = 0; n < N; ++n) columns[n] = read<V>(values + n * kWidth<V>);
    for (int r = 0; r < R; ++r) {
      const float factor = factors[r * left.row];
      for (int n = 0; n < N; ++n) sums[r][n] += factor * columns[n];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) write(out.data + r * out.row + n * kWidth<V>, sums[r][n]);
}

// The rows that are left, fewer than R.
template <class V, int R, int N>
TENGEN_INLINE void last_rows(int64_t rows, int64_t steps, Left left, Right right, Sums out) {
  if constexpr (R > 1) {
    if (rows == R - 1) product<V, R - 1, N>(steps, left, right, out);
    else last_rows<V, R - 1, N>(rows, steps, left, right, out);
  }
}

template <class V, int R, int N>
TENGEN_INLINE void all_rows(int64_t rows, int64_t steps, Left left, Right right, Sums out) {
  int64_t row = 0;
  for (; row + R <= rows; row += R) product<V, R, N>(steps, left.from(row), right, out.from(row, 0));
  last_rows<V, R, N>(rows - row, steps, left.from(row), right, out.from(row, 0));
}

// How many columns are computed together.
template <class V>
constexpr int64_t kPanel = 2 * kWidth<V>;

// All rows and columns, which are a multiple of the vectors' width.
template <class V, int R, class Matrix>
TENGEN_INLINE void products(int64_t rows, int64_t columns, int64_t steps, Left left, Matrix right, Sums out) {
  int64_t column = 0;
  for (; column + kPanel<V> <= columns; column += kPanel<V>)
    all_rows<V, R, 2>(rows, steps, left, right.columns(column, kPanel<V>, steps), out.from(0, column));
  if (column < columns)
    all_rows<V, R, 1>(rows, steps, left, right.columns(column, kWidth<V>, steps), out.from(0, column));
}

}  // namespace tengen
