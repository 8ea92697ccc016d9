// Batch normalization with the statistics of the batches of several ranks, for what norm.cpp does not cover: GPUs, and
// boards smaller than the canvas. It asks for the same sums as norm.cpp, so that ranks may differ in which one they use.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "group.h"
#include "guarded.h"

namespace {

using at::Tensor;

Tensor per_channel(const Tensor &values) { return values.view({1, -1, 1, 1}); }

// Sums over all points of the batch, in double precision.
Tensor over_points(const Tensor &values) { return values.sum({0, 2, 3}, /*keepdim=*/false, at::kDouble); }

// Two sums per channel and a number of points, [2 C + 1], added up over all ranks.
Tensor joined(tengen::Group *group, const Tensor &sums, const Tensor &others, const Tensor &points) {
  const Tensor all = at::cat({sums, others, points.reshape({1})});
  tengen::sum(*group, all);
  return all;
}

// Adds to running statistics, rounded as in norm.cpp, so that they stay the same on all ranks.
void move(const Tensor &running, const Tensor &by) { running.copy_(running.to(at::kDouble) + by); }

struct JoinedNorm : torch::autograd::Function<JoinedNorm> {
  static Tensor forward(torch::autograd::AutogradContext *context, const Tensor &x, const std::optional<Tensor> &board,
                        const Tensor &scale, const Tensor &shift, const Tensor &running_mean,
                        const Tensor &running_variance, double rate, double epsilon, int64_t address) {
    auto *group = reinterpret_cast<tengen::Group *>(address);
    const int64_t channels = x.size(1), rows = x.size(0) * x.size(2) * x.size(3);
    const auto on_board = [&](const Tensor &values) { return board ? values * *board : values; };
    const Tensor input = x.to(at::kFloat);
    const Tensor around = on_board(input - per_channel(running_mean));
    const auto wide = scale.options().dtype(at::kDouble);
    const Tensor points = board ? board->sum(at::kDouble) : at::full({}, double(rows), wide);
    const Tensor all = joined(group, over_points(around), over_points(around.square()), points);
    const Tensor count = all[2 * channels];
    const Tensor from = all.narrow(0, 0, channels) / count;
    const Tensor variance = (all.narrow(0, channels, channels) / count - from.square()).clamp_min(0.0);
    const Tensor mean = (running_mean.to(at::kDouble) + from).to(at::kFloat);
    const Tensor inverse = (variance + epsilon).rsqrt().to(at::kFloat);
    const Tensor unbiased = variance * count / (count - 1.0).clamp_min(1.0);
    move(running_variance, (unbiased - running_variance.to(at::kDouble)) * rate);
    move(running_mean, from * rate);
    context->save_for_backward({x, board ? *board : Tensor(), mean, inverse, scale, points});
    context->saved_data["group"] = address;
    const Tensor normal = on_board(input - per_channel(mean)) * per_channel(inverse * scale);
    return (normal + per_channel(shift)).to(x.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &board = saved[1], &mean = saved[2], &inverse = saved[3], &scale = saved[4];
    auto *group = reinterpret_cast<tengen::Group *>(context->saved_data["group"].toInt());
    const int64_t channels = x.size(1);
    const auto on_board = [&](const Tensor &values) { return board.defined() ? values * board : values; };
    const Tensor gradient = gradients[0].to(at::kFloat);
    const Tensor centered = on_board(x.to(at::kFloat) - per_channel(mean));
    const Tensor sums = over_points(gradient), products = over_points(gradient * centered);
    const Tensor all = joined(group, sums, products, saved[5]);
    const Tensor factor = (scale * inverse).to(at::kDouble), count = all[2 * channels];
    const Tensor slope = factor * inverse.square() * all.narrow(0, channels, channels) / count;
    const Tensor offset = factor * all.narrow(0, 0, channels) / count;
    const auto fp32 = [](const Tensor &values) { return per_channel(values.to(at::kFloat)); };
    const Tensor dx = on_board(gradient * fp32(factor) - centered * fp32(slope) - fp32(offset));
    return {dx.to(x.scalar_type()), Tensor(), (products * inverse).to(at::kFloat), sums.to(at::kFloat),
            Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

extern "C" {

// Normalizes x, [B, C, H, W], with the statistics of the batches of all ranks over the points on the board, [B, 1, H, W]
// of zeros and ones, or over all points if that is null; multiplies by scale and adds shift. Off the board, values are
// meaningless. Scale, shift and running statistics are fp32, [C].
at::Tensor *tengen_joined_norm(const at::Tensor *x, const at::Tensor *board, const at::Tensor *scale,
                               const at::Tensor *shift, const at::Tensor *running_mean,
                               const at::Tensor *running_variance, double rate, double epsilon, tengen::Group *group) {
  return guarded([&] {
    const auto on_board = board ? std::optional<at::Tensor>(board->to(at::kFloat)) : std::nullopt;
    return JoinedNorm::apply(*x, on_board, *scale, *shift, *running_mean, *running_variance, rate, epsilon,
                             reinterpret_cast<int64_t>(group));
  });
}

}  // extern "C"
