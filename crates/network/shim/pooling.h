// The pooled numbers of each channel in one pass over the activations.

#pragma once

#include <algorithm>

#include "numbers.h"

// For each sample: mean, mean * sided and maximum of each channel, which is not negative.
template <class T>
TENGEN_INLINE void pool(const T *x, int64_t samples, int64_t area, int64_t channels, float sided, float *out) {
  for (int64_t sample = 0; sample < samples; ++sample, out += 3 * channels) {
    float *sums = out, *scaled = out + channels, *most = out + 2 * channels;
    std::fill(out, out + 3 * channels, 0.0f);
    for (int64_t point = 0; point < area; ++point, x += channels) {
      for (int64_t c = 0; c < channels; ++c) {
        const float value = load(x[c]);
        sums[c] += value;
        most[c] = value > most[c] ? value : most[c];
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] /= area;
      scaled[c] = sums[c] * sided;
    }
  }
}
