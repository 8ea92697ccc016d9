// Batch normalization, the addition of a residual, and ReLU in one pass, forward and backward, on the CPU.
// libtorch computes them one after the other, each time reading and writing whole activations.
//
// A row is a point of a board, with one value per channel. In a batch with boards smaller than the canvas, `board` has a
// number for each row, 0 off the board: such rows count for nothing and are written as zeros. Otherwise it is null.

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "group.h"
#include "guarded.h"
#include "numbers.h"

namespace {

using at::Tensor;

// Rows that are summed in fp32 before they are added to sums in double precision.
constexpr int64_t kRows = 64;

TENGEN_INLINE bool is_off(const float *board, int64_t row) { return board && board[row] == 0.0f; }

// Channels whose sums stay in registers while the rows pass.
constexpr int64_t kTogether = 32;

// Adds two numbers of each row and channel, `of(place, channel, one, two)`, to two sums per channel, where `place` is
// that of the numbers in activations. Every sum is computed in the order of the rows.
template <class F>
TENGEN_INLINE void add_rows(const float *board, int64_t rows, int64_t channels, float *sums, float *others, F of) {
  if (channels % kTogether != 0) {
    for (int64_t row = 0; row < rows; ++row) {
      if (is_off(board, row)) continue;
      for (int64_t c = 0; c < channels; ++c) of(row * channels + c, c, sums[c], others[c]);
    }
    return;
  }
  for (int64_t first = 0; first < channels; first += kTogether) {
    float one[kTogether] = {}, two[kTogether] = {};
    for (int64_t row = 0; row < rows; ++row) {
      if (is_off(board, row)) continue;
      for (int64_t c = 0; c < kTogether; ++c) of(row * channels + first + c, first + c, one[c], two[c]);
    }
    for (int64_t c = 0; c < kTogether; ++c) {
      sums[first + c] += one[c];
      others[first + c] += two[c];
    }
  }
}

// Sums of x - shift and of its square per channel; `sums` and `squares` must start as zeros.
template <class T>
TENGEN_INLINE void moments(const T *x, const float *board, const float *shift, int64_t rows, int64_t channels,
                           float *sums, float *squares) {
  add_rows(board, rows, channels, sums, squares, [&](int64_t place, int64_t c, float &sum, float &square)
               __attribute__((always_inline)) {
    const float value = load(x[place]) - shift[c];
    sum += value;
    square += value * value;
  });
}

// y = x * scale + shift, then + sum if there is one, then ReLU if requested.
template <class T, bool kSum, bool kRelu>
TENGEN_INLINE void affine(const T *x, const float *board, const T *sum, const float *scale, const float *shift,
                          int64_t rows, int64_t channels, T *y) {
  for (int64_t row = 0; row < rows; ++row) {
    if (is_off(board, row)) {
      std::fill_n(y, channels, T(0));
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        float value = load(x[c]) * scale[c] + shift[c];
        if (kSum) value += load(sum[c]);
        if (kRelu) value = value < 0.0f ? 0.0f : value;
        store(y + c, value);
      }
    }
    x += channels;
    y += channels;
    if (kSum) sum += channels;
  }
}

// Sums of the gradient behind the ReLU and of its product with x - mean per channel.
template <class T, bool kRelu>
TENGEN_INLINE void gradient_moments(const T *gradient, const T *y, const T *x, const float *board, const float *mean,
                                    int64_t rows, int64_t channels, float *sums, float *products) {
  add_rows(board, rows, channels, sums, products, [&](int64_t place, int64_t c, float &sum, float &product)
               __attribute__((always_inline)) {
    float value = load(gradient[place]);
    if (kRelu) value = load(y[place]) > 0.0f ? value : 0.0f;
    sum += value;
    product += value * (load(x[place]) - mean[c]);
  });
}

// dx = a * g - b * x - c, and dsum = g if there was a sum, where g is the gradient behind the ReLU.
template <class T, bool kSum, bool kRelu>
TENGEN_INLINE void gradient_affine(const T *gradient, const T *y, const T *x, const float *board, const float *a,
                                   const float *b, const float *c0, int64_t rows, int64_t channels, T *dx, T *dsum) {
  for (int64_t row = 0; row < rows; ++row) {
    if (is_off(board, row)) {
      if (kSum) std::fill_n(dsum, channels, T(0));
      std::fill_n(dx, channels, T(0));
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        float value = load(gradient[c]);
        if (kRelu) value = load(y[c]) > 0.0f ? value : 0.0f;
        if (kSum) store(dsum + c, value);
        store(dx + c, a[c] * value - b[c] * load(x[c]) - c0[c]);
      }
    }
    gradient += channels;
    x += channels;
    dx += channels;
    if (kRelu) y += channels;
    if (kSum) dsum += channels;
  }
}

// A function for each number format and each combination, compiled for several instruction sets.
#define TENGEN_KERNELS(NAME, T)                                                                              \
  TENGEN_CLONES void moments_##NAME(const T *x, const float *board, const float *shift, int64_t rows,        \
                                    int64_t channels, float *sums, float *squares) {                         \
    moments(x, board, shift, rows, channels, sums, squares);                                                 \
  }                                                                                                          \
  TENGEN_CLONES void affine_##NAME(const T *x, const float *board, const T *sum, const float *scale,         \
                                   const float *shift, int64_t rows, int64_t channels, bool relu, T *y) {    \
    if (sum && relu) affine<T, true, true>(x, board, sum, scale, shift, rows, channels, y);                  \
    else if (sum) affine<T, true, false>(x, board, sum, scale, shift, rows, channels, y);                    \
    else if (relu) affine<T, false, true>(x, board, sum, scale, shift, rows, channels, y);                   \
    else affine<T, false, false>(x, board, sum, scale, shift, rows, channels, y);                            \
  }                                                                                                          \
  TENGEN_CLONES void gradient_moments_##NAME(const T *g, const T *y, const T *x, const float *board,         \
                                             const float *mean, int64_t rows, int64_t channels, float *sums, \
                                             float *products) {                                              \
    if (y) gradient_moments<T, true>(g, y, x, board, mean, rows, channels, sums, products);                  \
    else gradient_moments<T, false>(g, y, x, board, mean, rows, channels, sums, products);                   \
  }                                                                                                          \
  TENGEN_CLONES void gradient_affine_##NAME(const T *g, const T *y, const T *x, const float *board,          \
                                            const float *a, const float *b, const float *c, int64_t rows,    \
                                            int64_t channels, T *dx, T *dsum) {                              \
    if (dsum && y) gradient_affine<T, true, true>(g, y, x, board, a, b, c, rows, channels, dx, dsum);        \
    else if (dsum) gradient_affine<T, true, false>(g, y, x, board, a, b, c, rows, channels, dx, dsum);       \
    else if (y) gradient_affine<T, false, true>(g, y, x, board, a, b, c, rows, channels, dx, dsum);          \
    else gradient_affine<T, false, false>(g, y, x, board, a, b, c, rows, channels, dx, dsum);                \
  }

TENGEN_KERNELS(fp32, float)
TENGEN_KERNELS(bf16, uint16_t)

template <class T>
struct Kernels;

template <>
struct Kernels<float> {
  static constexpr auto moments = moments_fp32;
  static constexpr auto affine = affine_fp32;
  static constexpr auto gradient_moments = gradient_moments_fp32;
  static constexpr auto gradient_affine = gradient_affine_fp32;
};

template <>
struct Kernels<uint16_t> {
  static constexpr auto moments = moments_bf16;
  static constexpr auto affine = affine_bf16;
  static constexpr auto gradient_moments = gradient_moments_bf16;
  static constexpr auto gradient_affine = gradient_affine_bf16;
};

// Adds two sums per channel over all rows, `add(first row, rows, sums, others)`, the same on any number of threads.
template <class F>
void summed(int64_t rows, int64_t channels, double *sums, double *others, F add) {
  const int64_t pieces = (rows + kRows - 1) / kRows;
  std::vector<float> partial(size_t(2 * pieces * channels), 0.0f);
  at::parallel_for(0, pieces, 16, [&](int64_t first, int64_t end) {
    for (int64_t piece = first; piece < end; ++piece) {
      float *place = partial.data() + 2 * piece * channels;
      add(piece * kRows, std::min(kRows, rows - piece * kRows), place, place + channels);
    }
  });
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const float *place = partial.data() + 2 * piece * channels;
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += place[c];
      others[c] += place[channels + c];
    }
  }
}

// Rows per task of the passes that write activations.
constexpr int64_t kGrain = 1024;

template <class T>
T *data(const Tensor &tensor) {
  return tensor.defined() ? static_cast<T *>(tensor.data_ptr()) : nullptr;
}

int64_t rows_of(const Tensor &x) { return x.size(0) * x.size(2) * x.size(3); }

// The rows of `board`, from `first` on.
const float *from(const Tensor &board, int64_t first) { return board.defined() ? data<float>(board) + first : nullptr; }

// The number of rows on the board.
double counted(const Tensor &board, int64_t rows) {
  if (!board.defined()) return double(rows);
  const float *begin = data<float>(board);
  return double(rows - std::count(begin, begin + rows, 0.0f));
}

struct Settings {
  double rate;
  double epsilon;
  bool relu;
  // The ranks whose batches count as one; null if there is only this one.
  tengen::Group *group;
};

// Adds up the two sums of all ranks and returns their number of rows.
double joined(tengen::Group *group, double rows, std::vector<double> &sums, std::vector<double> &others) {
  if (!group) return rows;
  const int64_t channels = int64_t(sums.size());
  const at::Tensor all = at::empty({2 * channels + 1}, at::kDouble);
  double *values = data<double>(all);
  std::copy(sums.begin(), sums.end(), values);
  std::copy(others.begin(), others.end(), values + channels);
  values[2 * channels] = rows;
  tengen::sum(*group, all);
  std::copy(values, values + channels, sums.begin());
  std::copy(values + channels, values + 2 * channels, others.begin());
  return values[2 * channels];
}

// The output, the means and the reciprocals of the standard deviations; follows the running statistics.
template <class T>
std::vector<Tensor> forward_pass(const Tensor &x, const Tensor &board, const Tensor &sum, const Tensor &scale,
                                 const Tensor &shift, const Tensor &running_mean, const Tensor &running_variance,
                                 Settings settings) {
  const int64_t channels = x.size(1), rows = rows_of(x);
  std::vector<double> sums(channels, 0.0), squares(channels, 0.0);
  const float *around = data<float>(running_mean);
  summed(rows, channels, sums.data(), squares.data(), [&](int64_t first, int64_t count, float *one, float *two) {
    Kernels<T>::moments(data<T>(x) + first * channels, from(board, first), around, count, channels, one, two);
  });
  const double all_rows = joined(settings.group, counted(board, rows), sums, squares);
  Tensor mean = at::empty_like(running_mean), inverse = at::empty_like(running_mean);
  std::vector<float> factors(channels), offsets(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double moved = sums[c] / all_rows;
    const double variance = std::max(0.0, squares[c] / all_rows - moved * moved);
    const double average = around[c] + moved;
    const double reciprocal = 1.0 / std::sqrt(variance + settings.epsilon);
    data<float>(mean)[c] = float(average);
    data<float>(inverse)[c] = float(reciprocal);
    factors[c] = float(data<float>(scale)[c] * reciprocal);
    offsets[c] = float(data<float>(shift)[c] - average * data<float>(scale)[c] * reciprocal);
    const double unbiased = variance * all_rows / std::max(1.0, all_rows - 1.0);
    float &running = data<float>(running_variance)[c];
    running = float(running + settings.rate * (unbiased - running));
    data<float>(running_mean)[c] = float(around[c] + settings.rate * moved);
  }
  Tensor y = at::empty_like(x);
  at::parallel_for(0, rows, kGrain, [&](int64_t first, int64_t end) {
    const int64_t at = first * channels;
    const T *added = sum.defined() ? data<T>(sum) + at : nullptr;
    Kernels<T>::affine(data<T>(x) + at, from(board, first), added, factors.data(), offsets.data(), end - first,
                       channels, settings.relu, data<T>(y) + at);
  });
  return {y, mean, inverse};
}

// The gradients of x, of the sum if there was one, of the scale and of the shift. Those of scale and shift are for this
// rank's batch alone.
template <class T>
std::vector<Tensor> backward_pass(const Tensor &gradient, const Tensor &y, const Tensor &x, const Tensor &board,
                                  const Tensor &mean, const Tensor &inverse, const Tensor &scale, bool with_sum,
                                  tengen::Group *group) {
  const int64_t channels = x.size(1), rows = rows_of(x);
  std::vector<double> sums(channels, 0.0), products(channels, 0.0);
  const T *behind = data<T>(y);
  summed(rows, channels, sums.data(), products.data(), [&](int64_t first, int64_t count, float *one, float *two) {
    const int64_t at = first * channels;
    Kernels<T>::gradient_moments(data<T>(gradient) + at, behind ? behind + at : nullptr, data<T>(x) + at,
                                 from(board, first), data<float>(mean), count, channels, one, two);
  });
  Tensor scale_gradient = at::empty_like(scale), shift_gradient = at::empty_like(scale);
  for (int64_t c = 0; c < channels; ++c) {
    data<float>(shift_gradient)[c] = float(sums[c]);
    data<float>(scale_gradient)[c] = float(products[c] * double(data<float>(inverse)[c]));
  }
  const double all_rows = joined(group, counted(board, rows), sums, products);
  std::vector<float> a(channels), b(channels), c0(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double reciprocal = data<float>(inverse)[c], factor = data<float>(scale)[c] * reciprocal;
    const double slope = factor * reciprocal * reciprocal * products[c] / all_rows;
    a[c] = float(factor);
    b[c] = float(slope);
    c0[c] = float(factor * sums[c] / all_rows - slope * data<float>(mean)[c]);
  }
  Tensor dx = at::empty_like(x), dsum = with_sum && y.defined() ? at::empty_like(x) : Tensor();
  at::parallel_for(0, rows, kGrain, [&](int64_t first, int64_t end) {
    const int64_t at = first * channels;
    Kernels<T>::gradient_affine(data<T>(gradient) + at, behind ? behind + at : nullptr, data<T>(x) + at,
                                from(board, first), a.data(), b.data(), c0.data(), end - first, channels,
                                data<T>(dx) + at, dsum.defined() ? data<T>(dsum) + at : nullptr);
  });
  return {dx, with_sum && !dsum.defined() ? gradient : dsum, scale_gradient, shift_gradient};
}

Tensor rows_together(const Tensor &tensor) { return tensor.contiguous(at::MemoryFormat::ChannelsLast); }

struct NormAddRelu : torch::autograd::Function<NormAddRelu> {
  static Tensor forward(torch::autograd::AutogradContext *context, const Tensor &x,
                        const std::optional<Tensor> &board, const std::optional<Tensor> &sum, const Tensor &scale, const Tensor &shift, const Tensor &running_mean,
                        const Tensor &running_variance, double rate, double epsilon, bool relu, int64_t group) {
    const Tensor input = rows_together(x);
    const Tensor added = sum ? rows_together(*sum) : Tensor();
    const Tensor on_board = board ? board->contiguous() : Tensor();
    const bool half = input.scalar_type() == at::kBFloat16;
    auto pass = half ? forward_pass<uint16_t> : forward_pass<float>;
    const Settings settings{rate, epsilon, relu, reinterpret_cast<tengen::Group *>(group)};
    const auto out = pass(input, on_board, added, scale, shift, running_mean, running_variance, settings);
    context->saved_data["group"] = group;
    context->saved_data["relu"] = relu;
    context->saved_data["sum"] = sum.has_value();
    context->save_for_backward({input, relu ? out[0] : Tensor(), out[1], out[2], scale, on_board});
    return out[0];
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &y = saved[1];
    const Tensor gradient = rows_together(gradients[0].to(x.scalar_type()));
    const bool half = x.scalar_type() == at::kBFloat16;
    auto pass = half ? backward_pass<uint16_t> : backward_pass<float>;
    auto *group = reinterpret_cast<tengen::Group *>(context->saved_data["group"].toInt());
    const bool with_sum = context->saved_data["sum"].toBool();
    auto out = pass(gradient, y, x, saved[5], saved[2], saved[3], saved[4], with_sum, group);
    return {out[0], Tensor(), out[1], out[2], out[3], Tensor(), Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

extern "C" {

// Normalizes x, [B, C, H, W], fp32 or bf16 on the CPU, with the statistics of the batch, multiplies by scale and adds
// shift, adds sum if it is not null, and applies ReLU if requested. Scale, shift and running statistics are fp32, [C].
// If board, [B, H W] in fp32, is not null, only points where it is not 0 count, and the others become 0. If group is not
// null, the statistics are those of the batches of all its ranks.
at::Tensor *tengen_norm_add_relu(const at::Tensor *x, const at::Tensor *board, const at::Tensor *sum,
                                 const at::Tensor *scale, const at::Tensor *shift, const at::Tensor *running_mean,
                                 const at::Tensor *running_variance, double rate, double epsilon, int relu,
                                 tengen::Group *group) {
  return guarded([&] {
    const auto optional = [](const at::Tensor *tensor) {
      return tensor ? std::optional<at::Tensor>(*tensor) : std::nullopt;
    };
    return NormAddRelu::apply(*x, optional(board), optional(sum), *scale, *shift, *running_mean, *running_variance,
                              rate, epsilon, relu != 0, reinterpret_cast<int64_t>(group));
  });
}

}  // extern "C"
