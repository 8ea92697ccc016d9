// Winograd's convolutions on tiles of M x M points, which cover the boards of a batch. Activations are fp32 with the
// channel as the innermost dimension in memory.
//
// Each tile is computed alone and in the same order, so that a position's result does not depend on its batch.

#pragma once

#include <algorithm>

#include "tiles.h"
#include "vectors.h"
#include "winograd_maps.h"

namespace tengen::winograd {

// The board and the first point of a tile.
struct Corner {
  int64_t sample, row, column;

  Corner(const Grid &grid, int64_t tile, int64_t side)
      : sample(tile / grid.tiles()),
        row(tile % grid.tiles() / grid.tiles_wide * side),
        column(tile % grid.tiles_wide * side) {}
};

// The numbers of tiles after a map: (M + 2)^2 points, `stride` apart, with `channels` numbers for each tile.
template <class T>
struct Mapped {
  T *data;
  int64_t channels, stride;

  T *at(int64_t point) const { return data + point * stride; }
};

// The distance between points. The 16 keep them from falling into the same few sets of a cache.
inline int64_t stride_of(int64_t tiles, int64_t channels) { return tiles * channels + 16; }

// What a tile's inputs are: its points and those around them.
template <int M>
struct Inputs {
  static constexpr int kPoints = M + 2, kBefore = 1;

  template <class V>
  TENGEN_INLINE void map(const V *points, V *out) {
    Maps<M>::template input<V>(points, out);
  }
};

// What a tile's gradients are: those of its points, carried back to the products.
template <int M>
struct Gradients {
  static constexpr int kPoints = M, kBefore = 0;

  template <class V>
  TENGEN_INLINE void map(const V *points, V *out) {
    Maps<M>::template spread<V>(points, out);
  }
};

// The map of x, with zeros outside of the boards. A window of kPoints x kPoints that begins kBefore points before each
// tile becomes (M + 2)^2 points.
template <int M, class V, class Window>
TENGEN_INLINE void map_windows(const float *x, const Grid &grid, Range tiles, Mapped<float> out) {
  constexpr int kSide = M + 2, kPoints = Window::kPoints;
  const int64_t channels = out.channels;
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    const Corner corner(grid, tiles.first + tile, M);
    const float *board = x + corner.sample * grid.height * grid.width * channels;
    for (int64_t c = 0; c < channels; c += kWidth<V>) {
      V half[kSide][kPoints];
      for (int column = 0; column < kPoints; ++column) {
        const int64_t on_column = corner.column - Window::kBefore + column;
        const bool inside = on_column >= 0 && on_column < grid.width;
        V points[kPoints], mapped[kSide];
        for (int row = 0; row < kPoints; ++row) {
          const int64_t on_row = corner.row - Window::kBefore + row;
          const float *place = board + (on_row * grid.width + on_column) * channels + c;
          points[row] = inside && on_row >= 0 && on_row < grid.height ? read<V>(place) : V{};
        }
        Window::map(points, mapped);
        for (int row = 0; row < kSide; ++row) half[row][column] = mapped[row];
      }
      float *place = out.data + tile * channels + c;
      for (int row = 0; row < kSide; ++row) {
        V mapped[kSide];
        Window::map(half[row], mapped);
        for (int column = 0; column < kSide; ++column, place += out.stride) write(place, mapped[column]);
      }
    }
  }
}

// The output from its products.
template <int M, class V>
TENGEN_INLINE void map_outputs(Mapped<const float> products, const Grid &grid, Range tiles, After after, float *y) {
  constexpr int kSide = M + 2;
  const int64_t channels = products.channels;
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    const Corner corner(grid, tiles.first + tile, M);
    float *board = y + corner.sample * grid.height * grid.width * channels;
    const int64_t rows = std::min<int64_t>(M, grid.height - corner.row);
    const int64_t columns = std::min<int64_t>(M, grid.width - corner.column);
    for (int64_t c = 0; c < channels; c += kWidth<V>) {
      V half[M][kSide];
      for (int column = 0; column < kSide; ++column) {
        V points[kSide], mapped[M];
        for (int row = 0; row < kSide; ++row)
          points[row] = read<V>(products.at(row * kSide + column) + tile * channels + c);
        Maps<M>::template output<V>(points, mapped);
        for (int row = 0; row < M; ++row) half[row][column] = mapped[row];
      }
      V bias = after.bias ? read<V>(after.bias + c) : V{};
      if (after.own) bias += read<V>(after.own + corner.sample * channels + c);
      for (int row = 0; row < rows; ++row) {
        V mapped[M];
        Maps<M>::template output<V>(half[row], mapped);
        float *to = board + ((corner.row + row) * grid.width + corner.column) * channels + c;
        for (int column = 0; column < columns; ++column, to += channels) {
          V value = mapped[column] + bias;
          if (after.add) value += read<V>(to);
          // A NaN stays one.
          if (after.relu) value = value < 0.0f ? V{} : value;
          write(to, value);
        }
      }
    }
  }
}

// y = conv(x) on some tiles, with a map of the weights: for each of (M + 2)^2 points, panels of an inputs x outputs
// matrix. Needs memory for the maps of the tiles' inputs and outputs.
template <int M, class V, int R>
TENGEN_INLINE void convolve(const float *x, const float *weights, const Grid &grid, Range tiles, After after,
                            Mapped<float> in, Mapped<float> out, float *y) {
  map_windows<M, V, Inputs<M>>(x, grid, tiles, in);
  for (int64_t p = 0; p < (M + 2) * (M + 2); ++p) {
    const Panels panels{weights + p * in.channels * out.channels};
    products<V, R>(tiles.count, out.channels, in.channels, Left{in.at(p), in.channels, 1}, panels,
                   Sums{out.at(p), out.channels, false});
  }
  map_outputs<M, V>({out.data, out.channels, out.stride}, grid, tiles, after, y);
}

// What some tiles contribute to the gradient of the mapped weights, [(M + 2)^2, inputs, outputs]; with `add`, added to
// what is there.
template <int M, class V, int R>
TENGEN_INLINE void weight_gradient(const float *x, const float *dy, const Grid &grid, Range tiles, Mapped<float> in,
                                   Mapped<float> out, bool add, float *gradient) {
  map_windows<M, V, Inputs<M>>(x, grid, tiles, in);
  map_windows<M, V, Gradients<M>>(dy, grid, tiles, out);
  for (int64_t p = 0; p < (M + 2) * (M + 2); ++p) {
    const Sums sums{gradient + p * in.channels * out.channels, out.channels, add};
    products<V, R>(in.channels, out.channels, tiles.count, Left{in.at(p), 1, in.channels},
                   Rows{out.at(p), out.channels}, sums);
  }
}

}  // namespace tengen::winograd
