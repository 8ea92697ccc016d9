// CUDA graphs, a library of its own that is loaded after libtorch's CUDA part: everything that was asked of a GPU is
// recorded once and then launched in one call.

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/DeviceGuard.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>

#define TENGEN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

thread_local std::string failure;

template <class F>
int succeeds(F work) {
  try {
    work();
    return 1;
  } catch (const c10::Error &e) {
    failure = e.what_without_backtrace();
  } catch (const std::exception &e) {
    failure = e.what();
  } catch (...) {
    failure = "unknown C++ exception";
  }
  return 0;
}

struct Recording {
  explicit Recording(c10::Device device) : current(device) {}

  // libtorch records on the current GPU, which is the first one unless a thread says otherwise.
  std::optional<c10::DeviceGuard> current;
  at::cuda::CUDAGraph graph;
};

Recording *recording(void *recorded) { return static_cast<Recording *>(recorded); }

}  // namespace

TENGEN_EXPORT const char *tengen_graph_error() { return failure.c_str(); }

// Begins to record what the calling thread asks of a GPU, on its own stream. Memory comes from the pool of another
// graph, if there is one: the two must then never run at the same time. Null on failure.
TENGEN_EXPORT void *tengen_graph_begin(int64_t device_index, void *other) {
  void *begun = nullptr;
  succeeds([&] {
    const c10::Device device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index));
    auto created = std::make_unique<Recording>(device);
    const at::cuda::MempoolId_t pool = other ? recording(other)->graph.pool() : at::cuda::graph_pool_handle();
    created->graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    begun = created.release();
  });
  return begun;
}

// Ends the recording, on the thread that began it.
TENGEN_EXPORT int tengen_graph_end(void *recorded) {
  const int ended = succeeds([&] { recording(recorded)->graph.capture_end(); });
  recording(recorded)->current.reset();
  return ended;
}

// Asks the GPU for everything that was recorded, on the stream of the calling thread.
TENGEN_EXPORT int tengen_graph_launch(void *recorded) {
  return succeeds([&] { recording(recorded)->graph.replay(); });
}

TENGEN_EXPORT void tengen_graph_free(void *recorded) {
  succeeds([&] { delete recording(recorded); });
}
