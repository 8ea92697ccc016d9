// Convolutions with weights packed once for oneDNN and with bias, addition, and ReLU in the same pass.
// libtorch has them but tch does not; they are called through libtorch's dispatcher, so no oneDNN header is needed.

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>

#include <optional>
#include <string>

#include "guarded.h"

namespace {

using Scalars = c10::List<std::optional<at::Scalar>>;
using Ints = at::IntArrayRef;

const auto &reorder() {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_reorder_convolution_weight", "")
          .typed<at::Tensor(const at::Tensor &, Ints, Ints, Ints, int64_t, at::OptionalIntArrayRef)>();
  return op;
}

const auto &pointwise() {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_convolution_pointwise", "")
          .typed<at::Tensor(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &, Ints, Ints, Ints,
                            int64_t, std::string_view, Scalars, std::optional<std::string_view>)>();
  return op;
}

const auto &pointwise_add() {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_convolution_pointwise_", "binary")
          .typed<at::Tensor &(at::Tensor &, const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &,
                              Ints, Ints, Ints, int64_t, std::string_view, std::optional<at::Scalar>,
                              std::optional<std::string_view>, Scalars, std::optional<std::string_view>)>();
  return op;
}

const int64_t kOne[] = {1, 1};

// Prints nothing.
struct Silence : c10::WarningHandler {
  void process(const c10::Warning &) override {}
};

}  // namespace

extern "C" {

const char *tengen_fused_error() { return last_error().c_str(); }

const char *tengen_torch_version() { return TORCH_VERSION; }

// The most capable instruction set that libtorch's CPU kernels use, such as AVX512.
const char *tengen_cpu_capability() {
  static const std::string name = at::get_cpu_capability();
  return name.c_str();
}

// Whether convolutions in fp32 on GPUs may round their inputs to TF32.
bool tengen_may_round_to_tf32() {
  const auto precision = at::globalContext().float32Precision(at::Float32Backend::CUDA, at::Float32Op::CONV);
  return precision == at::Float32Precision::TF32;
}

// From now on, they may not. The newer function would leave libtorch with two settings that contradict each other; this
// one warns that it is old.
void tengen_forbid_tf32() {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  at::globalContext().setAllowTF32CuDNN(false);
}

// Disables everything that gradients need on this thread until the guard is passed to tengen_inference_end. Without it,
// each fused convolution goes through a slow fallback, because it has no gradient.
void *tengen_inference_begin() { return new c10::InferenceMode(true); }

void tengen_inference_end(void *guard) { delete static_cast<c10::InferenceMode *>(guard); }

// Packs the weight of a convolution without stride for inputs of about the given shape [B, C, H, W].
at::Tensor *tengen_pack(const at::Tensor *weight, int64_t padding, const int64_t *input_shape) {
  return guarded([&] {
    const int64_t pads[] = {padding, padding};
    return reorder().call(*weight, pads, kOne, kOne, 1, at::OptionalIntArrayRef(Ints(input_shape, 4)));
  });
}

// Computes conv(input) + bias, followed by ReLU if requested.
at::Tensor *tengen_conv(const at::Tensor *input, const at::Tensor *weight, const at::Tensor *bias, int64_t padding,
                        int relu) {
  return guarded([&] {
    const int64_t pads[] = {padding, padding};
    return pointwise().call(*input, *weight, *bias, pads, kOne, kOne, 1, relu ? "relu" : "none", Scalars(), "");
  });
}

// Computes ReLU(conv(input) + bias + sum), written over sum.
at::Tensor *tengen_conv_add_relu(at::Tensor *sum, const at::Tensor *input, const at::Tensor *weight,
                                 const at::Tensor *bias, int64_t padding) {
  return guarded([&] {
    const int64_t pads[] = {padding, padding};
    return pointwise_add().call(*sum, *input, *weight, *bias, pads, kOne, kOne, 1, "add", at::Scalar(1.0), "relu",
                                Scalars(), "");
  });
}

}  // extern "C"
