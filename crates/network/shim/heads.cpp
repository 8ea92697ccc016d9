// The last layers and the value of each position in one call, for prediction on the CPU with boards that fill the
// canvas. With libtorch's operations, some forty calls do this, which cost more than small networks' convolutions.

#include <cmath>
#include <vector>

#include "guarded.h"
#include "pooling.h"
#include "product.h"

extern "C" {

// The weights after the last convolution, in fp32. Tables with many outputs have them innermost, with zeros after them:
// rows and biases are `hidden_stride` and `margin_stride` long.
struct TengenHeads {
  int64_t channels, hidden_units, hidden_stride, margins, margin_stride;
  const float *points;       // [2, channels]: policy, ownership
  const float *points_bias;  // [2]
  const float *pass;         // [3 channels]
  const float *pass_bias;    // [1]
  const float *hidden;       // [3 channels + 3, hidden_stride]
  const float *hidden_bias;  // [hidden_stride]
  const float *margin;       // [hidden_units, margin_stride]
  const float *margin_bias;  // [margin_stride]
};

// Where the results of a batch go: policy logits [B, A + 1], ownership [B, A], and [B] each.
struct TengenPredictions {
  float *policy, *ownership, *win, *loss, *margin;
};
}

namespace {

// Final margins and komi are multiples of half a point, so a margin after komi this close to zero is a tie.
constexpr float kTie = 0.25f;

// Numbers that are computed together, on any processor.
constexpr int64_t kLanes = 16;
typedef float Lanes __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

TENGEN_INLINE Lanes lanes(const float *x) {
  Lanes out;
  std::memcpy(&out, x, sizeof out);
  return out;
}

TENGEN_INLINE Lanes lanes(const uint16_t *x) {
  Halves halves;
  std::memcpy(&halves, x, sizeof halves);
  return (Lanes)(__builtin_convertvector(halves, Bits) << 16);
}

TENGEN_INLINE float sum(Lanes x) {
  typedef int32_t Order __attribute__((vector_size(4 * kLanes)));
  x += __builtin_shuffle(x, Order{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
  x += __builtin_shuffle(x, Order{4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11});
  return (x[0] + x[1]) + (x[2] + x[3]);
}

// e^x to fp32 accuracy; arguments beyond fp32's range count as its ends, and NaN stays NaN.
TENGEN_INLINE float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 87.0f ? 87.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the sum's last bits are the rounded exponent
  const float exponent = shifted - 12582912.0f;
  const float rest = (x - exponent * 0.693359375f) + exponent * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * rest + 1.3981999507e-3f;
  p = p * rest + 8.3334519073e-3f;
  p = p * rest + 4.1665795894e-2f;
  p = p * rest + 1.6666665459e-1f;
  p = p * rest + 5.0000001201e-1f;
  p = p * rest * rest + rest + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

TENGEN_INLINE float hyperbolic_tangent(float x) { return 1.0f - 2.0f / (exponential(2.0f * x) + 1.0f); }

// The policy logit and the ownership before tanh of each point.
template <class T>
TENGEN_INLINE void points(const T *x, int64_t area, const TengenHeads &heads, float *policy, float *ownership) {
  const int64_t channels = heads.channels;
  const float *move = heads.points, *owner = heads.points + channels;
  for (int64_t point = 0; point < area; ++point, x += channels) {
    Lanes moves = {}, owners = {};
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      const Lanes values = lanes(x + c);
      moves += values * lanes(move + c);
      owners += values * lanes(owner + c);
    }
    policy[point] = heads.points_bias[0] + sum(moves);
    ownership[point] = heads.points_bias[1] + sum(owners);
    for (; c < channels; ++c) {
      policy[point] += load(x[c]) * move[c];
      ownership[point] += load(x[c]) * owner[c];
    }
  }
}

// Turns the logits of the margins -area to area into win, loss and the expected margin after komi.
TENGEN_INLINE void value(float *logits, int64_t area, float komi, float *win, float *loss, float *margin) {
  const int64_t margins = 2 * area + 1;
  float most = logits[0];
  for (int64_t m = 1; m < margins; ++m) most = logits[m] > most ? logits[m] : most;
  for (int64_t m = 0; m < margins; ++m) logits[m] = exponential(logits[m] - most);
  float total = 0.0f, wins = 0.0f, losses = 0.0f, expected = 0.0f;
  for (int64_t m = 0; m < margins; ++m) {
    const float after = float(m - area) + komi;
    total += logits[m];
    wins += after > kTie ? logits[m] : 0.0f;
    losses += after < -kTie ? logits[m] : 0.0f;
    expected += logits[m] * after;
  }
  *win = wins / total;
  *loss = losses / total;
  *margin = expected / total;
}

template <class T>
TENGEN_INLINE void last_layers(const T *x, int64_t samples, int64_t area, const TengenHeads &heads, const float *komi,
                               float sided, float *scratch, TengenPredictions out) {
  const int64_t pooled = 3 * heads.channels, margins = 2 * area + 1;
  const int64_t first = (heads.margins - margins) / 2;  // the table covers the largest board
  float *features = scratch, *hidden = features + pooled + 3, *logits = hidden + heads.hidden_stride;
  for (int64_t s = 0; s < samples; ++s, x += area * heads.channels) {
    float *policy = out.policy + s * (area + 1), *ownership = out.ownership + s * area;
    points(x, area, heads, policy, ownership);
    float lead = komi[s];
    for (int64_t p = 0; p < area; ++p) ownership[p] = hyperbolic_tangent(ownership[p]);
    for (int64_t p = 0; p < area; ++p) lead += ownership[p];

    pool(x, 1, area, heads.channels, sided, features);
    policy[area] = *heads.pass_bias;
    for (int64_t i = 0; i < pooled; ++i) policy[area] += features[i] * heads.pass[i];
    features[pooled] = hyperbolic_tangent(lead);
    features[pooled + 1] = hyperbolic_tangent(lead / 4.0f);
    features[pooled + 2] = lead / area;

    std::copy_n(heads.hidden_bias, heads.hidden_stride, hidden);
    add_product(features, pooled + 3, heads.hidden, heads.hidden_units, heads.hidden_stride, hidden);
    for (int64_t i = 0; i < heads.hidden_units; ++i) hidden[i] = hidden[i] < 0.0f ? 0.0f : hidden[i];
    std::copy_n(heads.margin_bias + first, margins, logits);
    add_product(hidden, heads.hidden_units, heads.margin + first, margins, heads.margin_stride, logits);
    value(logits, area, komi[s], out.win + s, out.loss + s, out.margin + s);
  }
}

TENGEN_CLONES void last_layers_fp32(const float *x, int64_t samples, int64_t area, const TengenHeads &heads,
                                    const float *komi, float sided, float *scratch, TengenPredictions out) {
  last_layers(x, samples, area, heads, komi, sided, scratch, out);
}

TENGEN_CLONES void last_layers_bf16(const uint16_t *x, int64_t samples, int64_t area, const TengenHeads &heads,
                                    const float *komi, float sided, float *scratch, TengenPredictions out) {
  last_layers(x, samples, area, heads, komi, sided, scratch, out);
}

}  // namespace

extern "C" {

// Computes all predictions from the nonnegative activations of the head's convolution, [B, channels, H, W], and the
// komi of the side to move, [B].
bool tengen_last_layers(const at::Tensor *activations, const TengenHeads *heads, const float *komi, double sided,
                        const TengenPredictions *out) {
  return succeeds([&] {
    const at::Tensor x = activations->contiguous(at::MemoryFormat::ChannelsLast);
    const int64_t samples = x.size(0), area = x.size(2) * x.size(3);
    TORCH_CHECK(x.size(1) == heads->channels, "the heads expect ", heads->channels, " channels, not ", x.size(1));
    std::vector<float> scratch(size_t(3 * heads->channels + 3 + heads->hidden_stride + heads->margin_stride));
    if (x.scalar_type() == at::kBFloat16) {
      last_layers_bf16(static_cast<const uint16_t *>(x.data_ptr()), samples, area, *heads, komi, float(sided),
                       scratch.data(), *out);
    } else {
      last_layers_fp32(x.data_ptr<float>(), samples, area, *heads, komi, float(sided), scratch.data(), *out);
    }
  });
}

}  // extern "C"
