// How a batch is cut into pieces that are computed together, and what follows a convolution.

#pragma once

#include <cstdint>

namespace tengen {

// How boards are cut into tiles of side x side points.
struct Grid {
  int64_t height, width, tiles_high, tiles_wide;

  Grid(int64_t height, int64_t width, int64_t side)
      : height(height),
        width(width),
        tiles_high((height + side - 1) / side),
        tiles_wide((width + side - 1) / side) {}

  int64_t tiles() const { return tiles_high * tiles_wide; }
};

// Some of a batch's tiles.
struct Range {
  int64_t first, count;
};

// What follows a convolution.
struct After {
  const float *bias;  // a number for each channel, or null
  const float *own;   // numbers that each sample has for itself, one for each channel, or null
  bool add;           // whether what the output held is added
  bool relu;
};

}  // namespace tengen
