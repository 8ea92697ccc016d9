// The linear maps of Winograd's minimal filtering for 3x3 convolutions (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015). M x M points of an output need (M + 2)^2 products for each pair of channels
// instead of 9 M^2:
//
//   output = A^T [ (G weight G^T) * (B^T input B) ] A,
//
// with products number by number in the middle. The interpolation points are 0, 1, -1, 2, and infinity for M = 3, also
// -2 for M = 4, and also -1/2 for M = 5. Each map below does one dimension; `V` is a vector of channels.

#pragma once

#include <cstdint>

#include "numbers.h"

namespace tengen::winograd {

template <int M>
struct Maps;

template <>
struct Maps<3> {
  // B^T d
  template <class V>
  TENGEN_INLINE void input(const V *d, V *out) {
    const V far = d[3] - d[1], near = d[3] - d[2];
    out[0] = far + (d[0] - d[2]) * 2.0f;
    out[1] = near - d[1] * 2.0f;
    out[2] = near + (d[1] - d[2]) * 2.0f;
    out[3] = far;
    out[4] = (d[4] - d[2]) - far * 2.0f;
  }

  // A^T m
  template <class V>
  TENGEN_INLINE void output(const V *m, V *out) {
    const V sum = m[1] + m[2], difference = m[1] - m[2];
    out[0] = m[0] + sum + m[3];
    out[1] = difference + m[3] * 2.0f;
    out[2] = sum + m[4] + m[3] * 4.0f;
  }

  // A y, which carries gradients of the output back to the products
  template <class V>
  TENGEN_INLINE void spread(const V *y, V *out) {
    const V ends = y[0] + y[2];
    out[0] = y[0];
    out[1] = ends + y[1];
    out[2] = ends - y[1];
    out[3] = y[0] + y[1] * 2.0f + y[2] * 4.0f;
    out[4] = y[2];
  }

  // G
  static constexpr float kWeight[5][3] = {{1.0f / 2, 0, 0},
                                          {-1.0f / 2, -1.0f / 2, -1.0f / 2},
                                          {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                                          {1.0f / 6, 1.0f / 3, 2.0f / 3},
                                          {0, 0, 1}};
};

template <>
struct Maps<4> {
  template <class V>
  TENGEN_INLINE void input(const V *d, V *out) {
    const V even = d[4] - d[2] * 4.0f, odd = d[3] - d[1] * 4.0f, even2 = d[4] - d[2], odd2 = d[3] - d[1];
    out[0] = d[0] * 4.0f - d[2] * 5.0f + d[4];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = even2 + odd2 * 2.0f;
    out[4] = even2 - odd2 * 2.0f;
    out[5] = d[1] * 4.0f - d[3] * 5.0f + d[5];
  }

  template <class V>
  TENGEN_INLINE void output(const V *m, V *out) {
    const V sum = m[1] + m[2], difference = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
    out[0] = m[0] + sum + sum2;
    out[1] = difference + difference2 * 2.0f;
    out[2] = sum + sum2 * 4.0f;
    out[3] = difference + m[5] + difference2 * 8.0f;
  }

  template <class V>
  TENGEN_INLINE void spread(const V *y, V *out) {
    const V even = y[0] + y[2], odd = y[1] + y[3], even2 = y[0] + y[2] * 4.0f, odd2 = y[1] * 2.0f + y[3] * 8.0f;
    out[0] = y[0];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = even2 + odd2;
    out[4] = even2 - odd2;
    out[5] = y[3];
  }

  static constexpr float kWeight[6][3] = {{1.0f / 4, 0, 0},
                                          {-1.0f / 6, -1.0f / 6, -1.0f / 6},
                                          {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                                          {1.0f / 24, 1.0f / 12, 1.0f / 6},
                                          {1.0f / 24, -1.0f / 12, 1.0f / 6},
                                          {0, 0, 1}};
};

// A row of B^T has the coefficients of the product of x - p over the points p other than its own, so a new point
// multiplies the rows of the others by one more factor.
template <>
struct Maps<5> {
  template <class V>
  TENGEN_INLINE void input(const V *d, V *out) {
    V shifted[6], others[6];
    for (int k = 0; k < 6; ++k) shifted[k] = d[k + 1] + d[k] * 0.5f;  // x + 1/2
    Maps<4>::input(shifted, others);
    for (int k = 0; k < 5; ++k) out[k] = others[k];
    out[5] = d[1] * 4.0f - d[3] * 5.0f + d[5];
    out[6] = others[5];
  }

  template <class V>
  TENGEN_INLINE void output(const V *m, V *out) {
    const V sum = m[1] + m[2], difference = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
    out[0] = m[0] + sum + sum2 + m[5];
    out[1] = difference + difference2 * 2.0f - m[5] * (1.0f / 2);
    out[2] = sum + sum2 * 4.0f + m[5] * (1.0f / 4);
    out[3] = difference + difference2 * 8.0f - m[5] * (1.0f / 8);
    out[4] = sum + m[6] + sum2 * 16.0f + m[5] * (1.0f / 16);
  }

  template <class V>
  TENGEN_INLINE void spread(const V *y, V *out) {
    const V even = y[0] + y[2] + y[4], odd = y[1] + y[3];
    const V even2 = y[0] + y[2] * 4.0f + y[4] * 16.0f, odd2 = y[1] * 2.0f + y[3] * 8.0f;
    out[0] = y[0];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = even2 + odd2;
    out[4] = even2 - odd2;
    out[5] = y[0] - y[1] * (1.0f / 2) + y[2] * (1.0f / 4) - y[3] * (1.0f / 8) + y[4] * (1.0f / 16);
    out[6] = y[4];
  }

  static constexpr float kWeight[7][3] = {{1.0f / 2, 0, 0},
                                          {-1.0f / 9, -1.0f / 9, -1.0f / 9},
                                          {1.0f / 3, -1.0f / 3, 1.0f / 3},
                                          {1.0f / 60, 1.0f / 30, 1.0f / 15},
                                          {-1.0f / 36, 1.0f / 18, -1.0f / 9},
                                          {-32.0f / 45, 16.0f / 45, -8.0f / 45},
                                          {0, 0, 1}};
};

// Kernels that are mapped together, next to each other in memory after the map.
constexpr int64_t kKernels = 8;

// G weight G^T of 3x3 kernels; the number in row r and column c of the next one is weight[3 r + c]. Kernels are
// `distance` apart, and the numbers of their maps `stride`. With `turned`, of kernels turned by half a turn.
template <int M>
TENGEN_INLINE void map_kernels(const float *weight, int64_t distance, bool turned, int64_t stride, float *out) {
  constexpr int kSide = M + 2;
  constexpr auto &kMap = Maps<M>::kWeight;
  float kernel[9][kKernels], half[kSide][3][kKernels];
  for (int64_t k = 0; k < kKernels; ++k)
    for (int number = 0; number < 9; ++number) kernel[turned ? 8 - number : number][k] = weight[k * distance + number];
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < 3; ++column)
      for (int64_t k = 0; k < kKernels; ++k)
        half[row][column][k] = kMap[row][0] * kernel[column][k] + kMap[row][1] * kernel[3 + column][k] +
                               kMap[row][2] * kernel[6 + column][k];
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column, out += stride)
      for (int64_t k = 0; k < kKernels; ++k)
        out[k] = kMap[column][0] * half[row][0][k] + kMap[column][1] * half[row][1][k] +
                 kMap[column][2] * half[row][2][k];
}

// The gradients of 3x3 kernels, G^T u G, from those of their maps.
template <int M>
TENGEN_INLINE void gather_kernels(const float *mapped, int64_t stride, int64_t distance, float *out) {
  constexpr int kSide = M + 2;
  constexpr auto &kMap = Maps<M>::kWeight;
  float half[3][kSide][kKernels] = {}, kernel[9][kKernels] = {};
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column, mapped += stride)
      for (int to = 0; to < 3; ++to)
        for (int64_t k = 0; k < kKernels; ++k) half[to][column][k] += kMap[row][to] * mapped[k];
  for (int number = 0; number < 9; ++number)
    for (int column = 0; column < kSide; ++column)
      for (int64_t k = 0; k < kKernels; ++k)
        kernel[number][k] += kMap[column][number % 3] * half[number / 3][column][k];
  for (int64_t k = 0; k < kKernels; ++k)
    for (int number = 0; number < 9; ++number) out[k * distance + number] = kernel[number][k];
}

}  // namespace tengen::winograd
