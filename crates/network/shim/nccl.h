// Sums on GPUs by NCCL, through its C interface: libtorch's CUDA part brings the library, but not its headers.

#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace tengen {

// The address at which the ranks of a communicator meet.
struct NcclId {
  char bytes[128];
};

class Nccl {
 public:
  // Finds NCCL among the loaded libraries.
  Nccl();
  // Ends the communicator at once, whatever it is doing.
  ~Nccl();
  Nccl(const Nccl &) = delete;
  Nccl &operator=(const Nccl &) = delete;

  NcclId new_id() const;
  // Meets the other ranks, each with a GPU of its own.
  void join(const NcclId &id, int rank, int ranks, int64_t device_index);
  // Adds up a tensor over all ranks, in place, on the calling thread's stream.
  void sum(const at::Tensor &tensor) const;
  // Throws if the communicator has noticed a failure.
  void check() const;

 private:
  struct Functions;
  const Functions &functions;
  void *communicator = nullptr;
};

}  // namespace tengen
