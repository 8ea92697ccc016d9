// 1x1 convolutions: a matrix product in which each point of a board is a row. Activations are fp32 with the channel as
// the innermost dimension in memory. Each point is computed alone and in the same order, as in winograd.h.

#pragma once

#include "tiles.h"
#include "vectors.h"

namespace tengen::pointwise {

// What follows the product, for some points of boards with `area` points.
template <class V>
TENGEN_INLINE void finish(const After &after, int64_t area, int64_t channels, Range points, float *y) {
  for (int64_t point = points.first; point < points.first + points.count; ++point) {
    const float *own = after.own ? after.own + point / area * channels : nullptr;
    float *to = y + point * channels;
    for (int64_t c = 0; c < channels; c += kWidth<V>) {
      V value = read<V>(to + c);
      if (after.bias) value += read<V>(after.bias + c);
      if (own) value += read<V>(own + c);
      // A NaN stays one.
      if (after.relu) value = value < 0.0f ? V{} : value;
      write(to + c, value);
    }
  }
}

// y = conv(x) on some points, where the weights are panels of an inputs x outputs matrix.
template <class V, int R>
TENGEN_INLINE void convolve(const float *x, const float *weights, const Grid &grid, Range points, const After &after,
                            int64_t inputs, int64_t outputs, float *y) {
  products<V, R>(points.count, outputs, inputs, Left{x + points.first * inputs, inputs, 1}, Panels{weights},
                 Sums{y + points.first * outputs, outputs, after.add});
  if (after.bias || after.own || after.relu) finish<V>(after, grid.height * grid.width, outputs, points, y);
}

// What some points contribute to the gradient of the weights, [inputs, outputs]; with `add`, added to what is there.
template <class V, int R>
TENGEN_INLINE void weight_gradient(const float *x, const float *dy, Range points, int64_t inputs, int64_t outputs,
                                   bool add, float *gradient) {
  products<V, R>(inputs, outputs, points.count, Left{x + points.first * inputs, 1, inputs},
                 Rows{dy + points.first * outputs, outputs}, Sums{gradient, outputs, add});
}

}  // namespace tengen::pointwise
