// Streams of a GPU, and reading results back while other streams go on. Called only with tensors of a GPU, or once
// libtorch's CUDA part is loaded.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "guarded.h"

namespace {

// Sleeps meanwhile, if the GPU has been told so. Whoever waits for an event of libtorch's spins in any case.
void wait_for_stream(c10::Device device) {
  const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
  cuda.synchronizeStream(cuda.getStream(device));
}

// How long a thread sleeps until it looks again whether the GPU has come to a place.
constexpr std::chrono::microseconds kNap(50);

}  // namespace

extern "C" {

// Lets the calling thread work on a stream of its own from now on, after everything that was asked of the GPU before. Of
// two streams, the GPU prefers the urgent one.
int tengen_own_stream(int64_t device_index, int urgent) {
  return succeeds([&] {
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    const c10::Device device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index));
    cuda.synchronizeDevice(device.index());
    cuda.exchangeStream(cuda.getStreamFromGlobalPool(device, urgent != 0));
  });
}

// Waits for what the calling thread has asked of a GPU.
int tengen_finish_stream(int64_t device_index) {
  return succeeds([&] { wait_for_stream(c10::Device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index))); });
}

// CUDA's handle of the stream on which the calling thread works; null, which is the common stream, on failure.
void *tengen_stream_handle(int64_t device_index) {
  void *handle = nullptr;
  succeeds([&] {
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    handle = cuda.getStream(c10::Device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index))).native_handle();
  });
  return handle;
}

// A place in the work that the calling thread has asked of a GPU so far. Null on failure.
c10::Event *tengen_moment(int64_t device_index) {
  c10::Event *made = nullptr;
  succeeds([&] {
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    auto event = std::make_unique<c10::Event>(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    event->record(cuda.getStream(c10::Device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index))));
    made = event.release();
  });
  return made;
}

void tengen_moment_free(c10::Event *moment) { delete moment; }

// Waits until the GPU has come to a place.
int tengen_moment_wait(const c10::Event *moment) {
  return succeeds([&] {
    while (!moment->query()) std::this_thread::sleep_for(kNap);
    moment->synchronize();
  });
}

// Seconds between two places that the GPU has come to, by its own clock. Not a number on failure.
double tengen_moment_since(const c10::Event *earlier, const c10::Event *later) {
  double seconds = std::numeric_limits<double>::quiet_NaN();
  succeeds([&] { seconds = earlier->elapsedTime(*later) * 1e-3; });
  return seconds;
}

// Words in pinned memory of the CPU, which hold anything.
at::Tensor *tengen_pinned_words(int64_t count) {
  return guarded([&] { return at::empty({count}, at::TensorOptions(at::kLong).pinned_memory(true)); });
}

// Copies a tensor in pinned memory to a GPU, without waiting.
int tengen_copy_into(const at::Tensor *from, const at::Tensor *to) {
  return succeeds([&] { to->copy_(*from, /*non_blocking=*/true); });
}

// The tensor's copy in pinned memory of the CPU, complete, without waiting for other streams.
at::Tensor *tengen_read_back(const at::Tensor *tensor) {
  return guarded([&] {
    at::Tensor copy = tensor->to(at::TensorOptions().device(at::kCPU), /*non_blocking=*/true);
    wait_for_stream(tensor->device());
    return copy;
  });
}

// The tensor's copy in pinned memory of the CPU, which is complete once the GPU has come to a place recorded after this.
at::Tensor *tengen_copy_back(const at::Tensor *tensor) {
  return guarded([&] { return tensor->to(at::TensorOptions().device(at::kCPU), /*non_blocking=*/true); });
}

}  // extern "C"
