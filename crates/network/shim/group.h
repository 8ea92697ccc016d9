// The processes that train one network together, each with a rank from 0.

#pragma once

#include <ATen/core/Tensor.h>

namespace tengen {

struct Group;

// Adds up a tensor over all ranks, in place. All ranks must ask for the same sums in the same order. On a GPU, the sum
// is ready when the calling thread's stream gets there. Throws if a connection breaks.
void sum(Group &group, const at::Tensor &tensor);

}  // namespace tengen
