// The pooled numbers of each channel in one pass over the activations, on the CPU, with gradients for training.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "guarded.h"
#include "pooling.h"

namespace {

using at::Tensor;

// The gradient of nonnegative activations from that of their pooled numbers. The first of several largest values gets
// that of the maximum. Needs room for three numbers of each channel.
template <class T>
TENGEN_INLINE void spread(const T *x, const float *gradient, int64_t samples, int64_t area, int64_t channels,
                          float sided, float *room, T *dx) {
  float *even = room, *left = room + channels, *most = room + 2 * channels;
  for (int64_t sample = 0; sample < samples; ++sample, gradient += 3 * channels) {
    std::fill_n(most, channels, 0.0f);
    for (int64_t c = 0; c < channels; ++c) even[c] = (gradient[c] + gradient[channels + c] * sided) / area;
    for (int64_t point = 0; point < area; ++point)
      for (int64_t c = 0; c < channels; ++c) most[c] = std::max(most[c], load(x[point * channels + c]));
    std::copy_n(gradient + 2 * channels, channels, left);
    for (int64_t point = 0; point < area; ++point, x += channels, dx += channels) {
      for (int64_t c = 0; c < channels; ++c) {
        const bool largest = load(x[c]) == most[c];
        store(dx + c, even[c] + (largest ? left[c] : 0.0f));
        left[c] = largest ? 0.0f : left[c];
      }
    }
  }
}

#define TENGEN_POOLING(NAME, T)                                                                                 \
  TENGEN_CLONES void pool_##NAME(const T *x, int64_t samples, int64_t area, int64_t channels, float sided,      \
                                 float *out) {                                                                  \
    pool(x, samples, area, channels, sided, out);                                                               \
  }                                                                                                             \
  TENGEN_CLONES void spread_##NAME(const T *x, const float *gradient, int64_t samples, int64_t area,            \
                                   int64_t channels, float sided, float *room, T *dx) {                         \
    spread(x, gradient, samples, area, channels, sided, room, dx);                                              \
  }

TENGEN_POOLING(fp32, float)
TENGEN_POOLING(bf16, uint16_t)

// Boards that a thread pools at least.
constexpr int64_t kBoards = 16;

template <class T>
T *data(const Tensor &tensor, int64_t first) {
  return static_cast<T *>(tensor.data_ptr()) + first;
}

// The pooled numbers of x in channels-last memory.
Tensor pooled(const Tensor &x, float sided) {
  const int64_t channels = x.size(1), area = x.size(2) * x.size(3);
  const bool half = x.scalar_type() == at::kBFloat16;
  const Tensor out = at::empty({x.size(0), 3 * channels}, x.options().dtype(at::kFloat));
  at::parallel_for(0, x.size(0), kBoards, [&](int64_t first, int64_t end) {
    const int64_t at = first * area * channels;
    float *place = data<float>(out, first * 3 * channels);
    if (half) pool_bf16(data<uint16_t>(x, at), end - first, area, channels, sided, place);
    else pool_fp32(data<float>(x, at), end - first, area, channels, sided, place);
  });
  return out;
}

// The gradient of x from that of its pooled numbers.
Tensor spread_over(const Tensor &x, const Tensor &gradient, float sided) {
  const int64_t channels = x.size(1), area = x.size(2) * x.size(3);
  const bool half = x.scalar_type() == at::kBFloat16;
  const Tensor dx = at::empty_like(x);
  at::parallel_for(0, x.size(0), kBoards, [&](int64_t first, int64_t end) {
    const int64_t at = first * area * channels, count = end - first;
    const float *from = data<float>(gradient, first * 3 * channels);
    std::vector<float> room(3 * channels);
    float *numbers = room.data();
    if (half) spread_bf16(data<uint16_t>(x, at), from, count, area, channels, sided, numbers, data<uint16_t>(dx, at));
    else spread_fp32(data<float>(x, at), from, count, area, channels, sided, numbers, data<float>(dx, at));
  });
  return dx;
}

struct Pool : torch::autograd::Function<Pool> {
  static Tensor forward(torch::autograd::AutogradContext *context, const Tensor &x, double sided) {
    context->save_for_backward({x});
    context->saved_data["sided"] = sided;
    return pooled(x, float(sided));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::variable_list gradients) {
    const Tensor x = context->get_saved_variables()[0];
    return {spread_over(x, gradients[0].contiguous(), float(context->saved_data["sided"].toDouble())), Tensor()};
  }
};

}  // namespace

extern "C" {

// [B, 3 C] in fp32: mean, mean * sided and maximum over the board of nonnegative activations [B, C, H, W], in fp32 or
// bf16 on the CPU.
at::Tensor *tengen_pool(const at::Tensor *activations, double sided) {
  return guarded([&] {
    const Tensor x = activations->contiguous(at::MemoryFormat::ChannelsLast);
    return x.requires_grad() ? Pool::apply(x, sided) : pooled(x, float(sided));
  });
}

}  // extern "C"
