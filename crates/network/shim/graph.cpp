// CUDA graphs, a library of its own that is loaded after libtorch's CUDA part: everything that was asked of a GPU is
// recorded once and then launched in one call.

#include <ATen/cuda/CUDAGraph.h>

#include <exception>
#include <memory>
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

at::cuda::CUDAGraph *graph(void *graph) { return static_cast<at::cuda::CUDAGraph *>(graph); }

}  // namespace

TENGEN_EXPORT const char *tengen_graph_error() { return failure.c_str(); }

// Begins to record what the calling thread asks of its GPU, on its own stream. Memory comes from the pool of another
// graph, if there is one: the two must then never run at the same time. Null on failure.
TENGEN_EXPORT void *tengen_graph_begin(void *other) {
  void *begun = nullptr;
  succeeds([&] {
    auto created = std::make_unique<at::cuda::CUDAGraph>();
    const at::cuda::MempoolId_t pool = other ? graph(other)->pool() : at::cuda::graph_pool_handle();
    created->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    begun = created.release();
  });
  return begun;
}

// Ends the recording, on the thread that began it.
TENGEN_EXPORT int tengen_graph_end(void *recorded) {
  return succeeds([&] { graph(recorded)->capture_end(); });
}

// Asks the GPU for everything that was recorded, on the stream of the calling thread.
TENGEN_EXPORT int tengen_graph_launch(void *recorded) {
  return succeeds([&] { graph(recorded)->replay(); });
}

TENGEN_EXPORT void tengen_graph_free(void *recorded) {
  succeeds([&] { delete graph(recorded); });
}
