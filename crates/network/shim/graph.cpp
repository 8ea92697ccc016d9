// CUDA graphs, a library of its own that is loaded after libtorch's CUDA part: everything that was asked of a GPU is
// recorded once and then launched in one call.

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>

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

// Undoes what libtorch may have done. Releases nothing that was never taken, because `end` fails then.
template <class End, class Release>
void undo(End end, Release release) {
  try {
    end();
    release();
  } catch (const std::exception &) {
    // It was not done, or is undone already.
  }
}

struct Recording {
  Recording(c10::Device device, at::cuda::MempoolId_t pool) : device(device), pool(pool), current(device) {}

  // To be called when the GPU does not record. libtorch directs memory to the pool before it begins, and stops that
  // only after a success. Otherwise, its allocators keep a filter that refers to this graph, let no other graph use the
  // pool, and do not reuse memory that several streams have used.
  void abandon() const {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    undo([&] { allocator::endAllocateToPool(device.index(), pool); },
         [&] { allocator::releasePool(device.index(), pool); });
    undo([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool); },
         [&] { at::getHostAllocator(at::kCUDA)->release_pool(pool); });
  }

  c10::Device device;
  at::cuda::MempoolId_t pool;
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
  std::unique_ptr<Recording> created;
  const int begun = succeeds([&] {
    const c10::Device device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index));
    const at::cuda::MempoolId_t pool = other ? recording(other)->graph.pool() : at::cuda::graph_pool_handle();
    created = std::make_unique<Recording>(device, pool);
    created->graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  });
  if (!begun && created) created->abandon();
  return begun ? created.release() : nullptr;
}

// Ends the recording, on the thread that began it.
TENGEN_EXPORT int tengen_graph_end(void *recorded) {
  const int ended = succeeds([&] { recording(recorded)->graph.capture_end(); });
  if (!ended) recording(recorded)->abandon();
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
