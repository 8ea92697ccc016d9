// 3x3 and 1x1 convolutions in fp32 on the CPU, for prediction and, with gradients, training: the former by Winograd's
// minimal filtering, on tiles of 3x3 to 5x5 points, the latter point by point. oneDNN, which libtorch calls for the
// others, computes all nine products of a 3x3 one, and spends more time on preparing a small one than on computing it.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "guarded.h"
#include "pointwise.h"
#include "winograd.h"

namespace {

using at::Tensor;
using tengen::After;
using tengen::Grid;
using tengen::Range;
using tengen::winograd::kKernels;
using tengen::winograd::Mapped;
using tengen::winograd::gather_kernels;
using tengen::winograd::map_kernels;

using Convolve = void(const float *, const float *, const Grid &, Range, After, Mapped<float>, Mapped<float>, float *);
using Gradient = void(const float *, const float *, const Grid &, Range, Mapped<float>, Mapped<float>, bool, float *);

// Channels are computed in vectors of 8, or of 16 if that divides their numbers.
constexpr int64_t kChannels = 8;
static_assert(kChannels == kKernels);

// Points that a thread copies at least.
constexpr int64_t kGrain = 4096;

// The passes for tiles of one size on one kind of processor.
struct Passes {
  Convolve *convolve;
  Gradient *gradient;
  int64_t panel;  // columns of the panels that mapped weights are in
};

#if defined(__x86_64__)
// Functions for processors with `ARCH`, with vectors of type V in R rows: those for 3x3 convolutions on tiles of M x M
// points, and those for 1x1 convolutions.
#define TENGEN_PASSES(NAME, ARCH, M, V, R)                                                                            \
  __attribute__((target(ARCH))) void convolve_##NAME(const float *x, const float *weights, const Grid &grid,          \
                                                     Range tiles, After after, Mapped<float> in, Mapped<float> out,   \
                                                     float *y) {                                                      \
    tengen::winograd::convolve<M, V, R>(x, weights, grid, tiles, after, in, out, y);                                  \
  }                                                                                                                   \
  __attribute__((target(ARCH))) void gradient_##NAME(const float *x, const float *dy, const Grid &grid, Range tiles,  \
                                                     Mapped<float> in, Mapped<float> out, bool add,                   \
                                                     float *gradient) {                                               \
    tengen::winograd::weight_gradient<M, V, R>(x, dy, grid, tiles, in, out, add, gradient);                           \
  }                                                                                                                   \
  constexpr Passes k_##NAME{convolve_##NAME, gradient_##NAME, tengen::kPanel<V>};

#define TENGEN_POINTWISE_PASSES(NAME, ARCH, V, R)                                                                     \
  __attribute__((target(ARCH))) void convolve_##NAME(const float *x, const float *weights, const Grid &grid,          \
                                                     Range points, After after, Mapped<float> in, Mapped<float> out,  \
                                                     float *y) {                                                      \
    tengen::pointwise::convolve<V, R>(x, weights, grid, points, after, in.channels, out.channels, y);                 \
  }                                                                                                                   \
  __attribute__((target(ARCH))) void gradient_##NAME(const float *x, const float *dy, const Grid &, Range points,     \
                                                     Mapped<float> in, Mapped<float> out, bool add,                   \
                                                     float *gradient) {                                               \
    tengen::pointwise::weight_gradient<V, R>(x, dy, points, in.channels, out.channels, add, gradient);                \
  }                                                                                                                   \
  constexpr Passes k_##NAME{convolve_##NAME, gradient_##NAME, tengen::kPanel<V>};

// Six rows of two vectors fill the 16 registers of AVX2, and twelve the 32 of AVX-512.
#define TENGEN_ALL_PASSES(NAME, ARCH, V, R)             \
  TENGEN_POINTWISE_PASSES(NAME##_1, ARCH, V, R)         \
  TENGEN_PASSES(NAME##_3, ARCH, 3, V, R)                \
  TENGEN_PASSES(NAME##_4, ARCH, 4, V, R)                \
  TENGEN_PASSES(NAME##_5, ARCH, 5, V, R)                \
  const Passes &passes_##NAME(int64_t side) {           \
    switch (side) {                                     \
      case 1: return k_##NAME##_1;                      \
      case 3: return k_##NAME##_3;                      \
      case 4: return k_##NAME##_4;                      \
      default: return k_##NAME##_5;                     \
    }                                                   \
  }

TENGEN_ALL_PASSES(avx2, "arch=x86-64-v3", tengen::V8, 6)
TENGEN_ALL_PASSES(avx512, "arch=x86-64-v4", tengen::V16, 12)

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("x86-64-v3");
  return has;
}

bool has_avx512() {
  static const bool has = __builtin_cpu_supports("x86-64-v4");
  return has;
}

const Passes &passes(int64_t side, int64_t inputs, int64_t outputs) {
  const bool wide = has_avx512() && inputs % 16 == 0 && outputs % 16 == 0;
  return wide ? passes_avx512(side) : passes_avx2(side);
}
#else
bool has_avx2() { return false; }

const Passes &passes(int64_t, int64_t, int64_t) {
  TORCH_CHECK(false, "this processor has no such convolutions");
}
#endif

// Numbers of a tile with this side after its map. A 1x1 convolution has tiles of one point and no map.
int64_t numbers_of(int64_t side) { return side == 1 ? 1 : (side + 2) * (side + 2); }

// The side of the tiles for a mapped weight.
int64_t side_of(const Tensor &mapped) {
  for (const int64_t side : {1, 3, 4})
    if (mapped.size(0) == numbers_of(side)) return side;
  return 5;
}

// The side of the tiles for a weight, [outputs, inputs, k, k], with the fewest products on a board. Tiles of 5x5 points
// are less exact, take more work for the maps, and have more weights to read, so they must save a fifth of the
// products.
int64_t best_side(const Tensor &weight, int64_t height, int64_t width) {
  if (weight.size(2) == 1) return 1;
  const auto products = [&](int64_t side) { return Grid(height, width, side).tiles() * numbers_of(side); };
  const int64_t exact = products(4) < products(3) ? 4 : 3;
  return 5 * products(5) <= 4 * products(exact) ? 5 : exact;
}

// A number of tiles whose maps fit into a level-2 cache beside the weights, a multiple of the rows above, but enough to
// make up for reading the weights.
int64_t tiles_together(int64_t side, int64_t channels) {
  constexpr int64_t kNumbers = 48 * 1024, kLeast = 36;
  const int64_t fitting = kNumbers / (numbers_of(side) * channels);
  return std::clamp<int64_t>(fitting / 12 * 12, kLeast, 72);
}

// Memory for the maps of some tiles, one for each thread.
class Room {
 public:
  Room(int64_t side, int64_t tiles, int64_t inputs, int64_t outputs) {
    const int64_t points = numbers_of(side);
    const int64_t in_stride = tengen::winograd::stride_of(tiles, inputs);
    const int64_t out_stride = tengen::winograd::stride_of(tiles, outputs);
    const size_t needed = size_t(points * (in_stride + out_stride)) + kLine;
    thread_local std::vector<float> memory;
    if (memory.size() < needed) memory.resize(needed);
    const size_t past_line = reinterpret_cast<uintptr_t>(memory.data()) / sizeof(float) % kLine;
    float *start = memory.data() + (kLine - past_line) % kLine;
    in = {start, inputs, in_stride};
    out = {start + points * in_stride, outputs, out_stride};
  }

  Mapped<float> in{}, out{};

 private:
  // Numbers in a line of the cache.
  static constexpr size_t kLine = 16;
};

Tensor rows_together(const Tensor &x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

int64_t padded(int64_t channels) { return (channels + kChannels - 1) / kChannels * kChannels; }

// An output without values.
Tensor output_of(const Tensor &x, int64_t channels) {
  return at::empty({x.size(0), channels, x.size(2), x.size(3)}, x.options(), at::MemoryFormat::ChannelsLast);
}

// x in channels-last memory, with channels of zeros up to a multiple of kChannels.
Tensor input_of(const Tensor &x) {
  const Tensor rows = rows_together(x);
  const int64_t channels = x.size(1), all = padded(channels), points = x.size(0) * x.size(2) * x.size(3);
  if (all == channels) return rows;
  const Tensor out = output_of(x, all);
  const float *from = rows.data_ptr<float>();
  float *to = out.data_ptr<float>();
  at::parallel_for(0, points, kGrain, [&](int64_t first, int64_t end) {
    for (int64_t point = first; point < end; ++point) {
      std::copy_n(from + point * channels, channels, to + point * all);
      std::fill_n(to + point * all + channels, all - channels, 0.0f);
    }
  });
  return out;
}

// A convolution's numbers of channels and how its boards are cut.
struct Shape {
  int64_t side, inputs, outputs, samples;
  Grid grid;

  Shape(const Tensor &x, int64_t side, int64_t outputs)
      : side(side), inputs(x.size(1)), outputs(outputs), samples(x.size(0)), grid(x.size(2), x.size(3), side) {}

  int64_t tiles() const { return samples * grid.tiles(); }
};

// Maps all kernels of a weight, [outputs, inputs, 3, 3], to panels with `rows` rows and `columns` columns; places
// without a kernel stay as they are. With `turned`, rows are outputs and columns are inputs.
template <int M>
TENGEN_INLINE void map_all(const float *weight, int64_t outputs, int64_t inputs, bool turned, int64_t rows,
                           int64_t columns, int64_t panel, float *out) {
  const int64_t next_row = 9 * (turned ? inputs : 1), next_column = 9 * (turned ? 1 : inputs);
  const int64_t filled_rows = turned ? outputs : inputs, filled_columns = turned ? inputs : outputs;
  for (int64_t row = 0; row < filled_rows; ++row) {
    for (int64_t column = 0; column < filled_columns; column += kKernels) {
      const int64_t place = tengen::place_in_panels(row, column, rows, columns, panel);
      const float *from = weight + row * next_row + column * next_column;
      float rest[9 * kKernels] = {};
      const int64_t left = filled_columns - column;
      if (left < kKernels)
        for (int64_t k = 0; k < left; ++k) std::copy_n(from + k * next_column, 9, rest + 9 * k);
      map_kernels<M>(left < kKernels ? rest : from, left < kKernels ? 9 : next_column, turned, rows * columns,
                     out + place);
    }
  }
}

#define TENGEN_MAP_ALL(M)                                                                                              \
  TENGEN_CLONES void map_all_##M(const float *weight, int64_t outputs, int64_t inputs, bool turned, int64_t rows,     \
                                 int64_t columns, int64_t panel, float *out) {                                        \
    map_all<M>(weight, outputs, inputs, turned, rows, columns, panel, out);                                           \
  }

TENGEN_MAP_ALL(3)
TENGEN_MAP_ALL(4)
TENGEN_MAP_ALL(5)

// The same for a weight [outputs, inputs, 1, 1], which is only moved.
void map_all_1(const float *weight, int64_t outputs, int64_t inputs, bool turned, int64_t rows, int64_t columns,
               int64_t panel, float *out) {
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t input = 0; input < inputs; ++input, ++weight)
      out[tengen::place_in_panels(turned ? output : input, turned ? input : output, rows, columns, panel)] = *weight;
}

auto *map_of(int64_t side) {
  switch (side) {
    case 1: return map_all_1;
    case 3: return map_all_3;
    case 4: return map_all_4;
    default: return map_all_5;
  }
}

// The map of a weight, [outputs, inputs, k, k], as [numbers, inputs, outputs] with the last two in panels, and inputs
// of zeros up to a multiple of kChannels. With `turned`, that of the weight with which gradients flow back: kernels
// turned by half a turn, and inputs and outputs exchanged.
Tensor map_weight(const Tensor &weight, int64_t side, bool turned) {
  const Tensor kernels = weight.contiguous();
  const int64_t outputs = weight.size(0), inputs = weight.size(1);
  const int64_t rows = turned ? outputs : padded(inputs), columns = turned ? padded(inputs) : outputs;
  const Tensor out = at::zeros({numbers_of(side), rows, columns}, kernels.options());
  map_of(side)(kernels.data_ptr<float>(), outputs, inputs, turned, rows, columns, passes(side, rows, columns).panel,
               out.data_ptr<float>());
  return out;
}

// y = conv(x) and what follows, for x and y in channels-last memory.
void convolve(const Tensor &x, const Tensor &mapped, After after, Tensor &y) {
  const int64_t side = side_of(mapped);
  const Shape shape(x, side, mapped.size(2));
  const Convolve *pass = passes(side, shape.inputs, shape.outputs).convolve;
  const int64_t together = tiles_together(side, shape.inputs + shape.outputs), all = shape.tiles();
  const float *from = x.data_ptr<float>(), *weights = mapped.data_ptr<float>();
  float *to = y.data_ptr<float>();
  at::parallel_for(0, (all + together - 1) / together, 1, [&](int64_t first, int64_t end) {
    const Room room(side, together, shape.inputs, shape.outputs);
    for (int64_t block = first; block < end; ++block) {
      const Range tiles{block * together, std::min(together, all - block * together)};
      pass(from, weights, shape.grid, tiles, after, room.in, room.out, to);
    }
  });
}

// The gradients of the first `inputs` rows of kernels, [outputs, inputs, k, k], from those of their maps, [numbers,
// rows, outputs].
template <int M>
TENGEN_INLINE void gather_all(const float *mapped, int64_t rows, int64_t outputs, int64_t inputs, float *out) {
  for (int64_t input = 0; input < inputs; ++input)
    for (int64_t output = 0; output < outputs; output += kKernels)
      gather_kernels<M>(mapped + input * outputs + output, rows * outputs, 9 * inputs,
                        out + 9 * (output * inputs + input));
}

#define TENGEN_GATHER_ALL(M)                                                                                           \
  TENGEN_CLONES void gather_all_##M(const float *mapped, int64_t rows, int64_t outputs, int64_t inputs, float *out) { \
    gather_all<M>(mapped, rows, outputs, inputs, out);                                                                \
  }

TENGEN_GATHER_ALL(3)
TENGEN_GATHER_ALL(4)
TENGEN_GATHER_ALL(5)

void gather_all_1(const float *mapped, int64_t, int64_t outputs, int64_t inputs, float *out) {
  for (int64_t input = 0; input < inputs; ++input)
    for (int64_t output = 0; output < outputs; ++output, ++mapped) out[output * inputs + input] = *mapped;
}

auto *gather_of(int64_t side) {
  switch (side) {
    case 1: return gather_all_1;
    case 3: return gather_all_3;
    case 4: return gather_all_4;
    default: return gather_all_5;
  }
}

// The gradient of a weight, [outputs, inputs, k, k]; x may have channels of zeros after its inputs.
Tensor weight_gradient(const Tensor &x, const Tensor &dy, const Tensor &weight, int64_t side) {
  // Sums of some pieces are added up at the end, so that any number of threads gives the same result.
  constexpr int64_t kMostPieces = 8, kBlocksOfPiece = 4;
  const Shape shape(x, side, dy.size(1));
  const Gradient *pass = passes(side, shape.inputs, shape.outputs).gradient;
  const int64_t together = tiles_together(side, shape.inputs + shape.outputs), all = shape.tiles();
  const int64_t blocks = (all + together - 1) / together;
  const int64_t pieces = std::clamp<int64_t>(blocks / kBlocksOfPiece, 1, kMostPieces);
  const int64_t points = numbers_of(side), pairs = shape.inputs * shape.outputs;
  const Tensor sums = blocks ? at::empty({pieces, points, pairs}, x.options())
                             : at::zeros({pieces, points, pairs}, x.options());
  const float *from_x = x.data_ptr<float>(), *from_dy = dy.data_ptr<float>();
  float *to = sums.data_ptr<float>();
  at::parallel_for(0, pieces, 1, [&](int64_t first, int64_t end) {
    const Room room(side, together, shape.inputs, shape.outputs);
    for (int64_t piece = first; piece < end; ++piece) {
      const int64_t begin = piece * blocks / pieces, last = (piece + 1) * blocks / pieces;
      for (int64_t block = begin; block < last; ++block) {
        const Range tiles{block * together, std::min(together, all - block * together)};
        pass(from_x, from_dy, shape.grid, tiles, room.in, room.out, block > begin, to + piece * points * pairs);
      }
    }
  });
  const Tensor mapped = pieces > 1 ? sums.sum(0) : sums;
  const Tensor out = at::empty(weight.sizes(), x.options());
  gather_of(side)(mapped.data_ptr<float>(), shape.inputs, shape.outputs, weight.size(1), out.data_ptr<float>());
  return out;
}

struct Convolution : torch::autograd::Function<Convolution> {
  static Tensor forward(torch::autograd::AutogradContext *context, const Tensor &x, const Tensor &weight) {
    const Tensor input = input_of(x);
    const int64_t side = best_side(weight, x.size(2), x.size(3));
    Tensor y = output_of(input, weight.size(0));
    convolve(input, map_weight(weight, side, false), After{nullptr, nullptr, false, false}, y);
    context->save_for_backward({input, weight});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], dy = rows_together(gradients[0]);
    const int64_t side = best_side(weight, x.size(2), x.size(3));
    Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = output_of(dy, x.size(1));
      convolve(dy, map_weight(weight, side, true), After{nullptr, nullptr, false, false}, dx);
      dx = dx.narrow(1, 0, weight.size(1));
    }
    return {dx, context->needs_input_grad(1) ? weight_gradient(x, dy, weight, side) : Tensor()};
  }
};

void check_input(const Tensor &x, int64_t inputs) {
  TORCH_CHECK(x.dim() == 4 && x.size(1) == inputs && x.scalar_type() == at::kFloat && x.device().is_cpu(),
              "a convolution expects [B, ", inputs, ", H, W] in fp32 on the CPU, not ", x.sizes(), " of ",
              x.scalar_type());
}

bool fits(int64_t inputs, int64_t outputs) { return has_avx2() && inputs > 0 && outputs % kChannels == 0; }

void check_weight(const Tensor &weight) {
  TORCH_CHECK(weight.dim() == 4 && (weight.size(2) == 1 || weight.size(2) == 3) && weight.size(3) == weight.size(2) &&
                  weight.scalar_type() == at::kFloat && weight.device().is_cpu() &&
                  fits(weight.size(1), weight.size(0)),
              "a convolution does not fit: ", weight.sizes(), " of ", weight.scalar_type());
}

// The bias of a convolution with a mapped weight.
const float *bias_of(const Tensor &bias, const Tensor &mapped) {
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == mapped.size(2) && bias.scalar_type() == at::kFloat &&
                  bias.is_contiguous(),
              "a bias of ", mapped.size(2), " numbers in fp32 is expected, not ", bias.sizes());
  return bias.data_ptr<float>();
}

// The numbers that each sample of x has for itself, one for each output of a mapped weight; empty if there are none.
Tensor own_of(const Tensor *own, const Tensor &x, const Tensor &mapped) {
  if (!own) return {};
  TORCH_CHECK(own->dim() == 2 && own->size(0) == x.size(0) && own->size(1) == mapped.size(2) &&
                  own->scalar_type() == at::kFloat,
              "biases [", x.size(0), ", ", mapped.size(2), "] in fp32 are expected, not ", own->sizes());
  return own->contiguous();
}

// What follows a convolution with biases and the result of own_of.
After after(const float *bias, const Tensor &own, bool add, bool relu) {
  return {bias, own.defined() ? own.data_ptr<float>() : nullptr, add, relu};
}

}  // namespace

extern "C" {

// Why the last call on this thread failed.
const char *tengen_convolution_error() { return last_error().c_str(); }

// Whether the functions below work on this processor for a weight with these numbers of channels.
int tengen_convolution_fits(int64_t inputs, int64_t outputs) { return fits(inputs, outputs); }

// The map of a weight [outputs, inputs, k, k], where k is 1 or 3, best for boards of this size.
at::Tensor *tengen_convolution_weight(const at::Tensor *weight, int64_t height, int64_t width) {
  return guarded([&] {
    check_weight(*weight);
    return map_weight(*weight, best_side(*weight, height, width), false);
  });
}

// conv(x) + bias + own, with a mapped weight of so many inputs, followed by ReLU if requested. `own`, [B, outputs], is
// a bias of each sample, or null.
at::Tensor *tengen_convolution_conv(const at::Tensor *x, int64_t inputs, const at::Tensor *mapped,
                                    const at::Tensor *bias, const at::Tensor *own, int relu) {
  return guarded([&] {
    check_input(*x, inputs);
    Tensor y = output_of(*x, mapped->size(2));
    const Tensor each = own_of(own, *x, *mapped);
    convolve(input_of(*x), *mapped, after(bias_of(*bias, *mapped), each, false, relu != 0), y);
    return y;
  });
}

// ReLU(conv(x) + bias + own + sum), written over sum if that is in channels-last memory.
at::Tensor *tengen_convolution_conv_add_relu(at::Tensor *sum, const at::Tensor *x, int64_t inputs,
                                             const at::Tensor *mapped, const at::Tensor *bias, const at::Tensor *own) {
  return guarded([&] {
    check_input(*x, inputs);
    check_input(*sum, mapped->size(2));
    TORCH_CHECK(sum->size(0) == x->size(0) && sum->size(2) == x->size(2) && sum->size(3) == x->size(3),
                "a sum of the input's batch and board is expected, not ", sum->sizes());
    Tensor y = rows_together(*sum);
    const Tensor each = own_of(own, *x, *mapped);
    convolve(input_of(*x), *mapped, after(bias_of(*bias, *mapped), each, true, true), y);
    return y;
  });
}

// conv(x) with a weight [outputs, inputs, k, k], where k is 1 or 3, with gradients.
at::Tensor *tengen_convolution_train(const at::Tensor *x, const at::Tensor *weight) {
  return guarded([&] {
    check_weight(*weight);
    check_input(*x, weight->size(1));
    return Convolution::apply(*x, *weight);
  });
}

}  // extern "C"
