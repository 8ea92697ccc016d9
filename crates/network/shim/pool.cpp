// The pooled numbers of each channel in one pass over the activations, for prediction on the CPU.

#include <ATen/ops/empty.h>

#include "guarded.h"
#include "pooling.h"

namespace {

TENGEN_CLONES void pool_fp32(const float *x, int64_t samples, int64_t area, int64_t channels, float sided, float *out) {
  pool(x, samples, area, channels, sided, out);
}

TENGEN_CLONES void pool_bf16(const uint16_t *x, int64_t samples, int64_t area, int64_t channels, float sided,
                             float *out) {
  pool(x, samples, area, channels, sided, out);
}

}  // namespace

extern "C" {

// [B, 3 C] in fp32: mean, mean * sided and maximum over the board of nonnegative activations [B, C, H, W].
at::Tensor *tengen_pool(const at::Tensor *activations, double sided) {
  return guarded([&] {
    const at::Tensor x = activations->contiguous(at::MemoryFormat::ChannelsLast);
    const int64_t samples = x.size(0), channels = x.size(1), area = x.size(2) * x.size(3);
    at::Tensor out = at::empty({samples, 3 * channels}, x.options().dtype(at::kFloat));
    float *place = out.data_ptr<float>();
    if (x.scalar_type() == at::kBFloat16) {
      pool_bf16(static_cast<const uint16_t *>(x.data_ptr()), samples, area, channels, float(sided), place);
    } else {
      pool_fp32(x.data_ptr<float>(), samples, area, channels, float(sided), place);
    }
    return out;
  });
}

}  // extern "C"
