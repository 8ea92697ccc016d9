#include "nccl.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <string>

namespace tengen {

// Declared in nccl.h of NCCL 2; results are 0 on success, and 7 for what is still in progress.
struct Nccl::Functions {
  int (*get_unique_id)(NcclId *);
  int (*comm_init_rank)(void **, int, NcclId, int);
  int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
  int (*comm_get_async_error)(void *, int *);
  int (*comm_abort)(void *);
  const char *(*get_error_string)(int);

  Functions() {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
    TORCH_CHECK(library, dlerror());
    const auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      TORCH_CHECK(function, "libnccl.so.2 has no function ", name);
    };
    find(get_unique_id, "ncclGetUniqueId");
    find(comm_init_rank, "ncclCommInitRank");
    find(all_reduce, "ncclAllReduce");
    find(comm_get_async_error, "ncclCommGetAsyncError");
    find(comm_abort, "ncclCommAbort");
    find(get_error_string, "ncclGetErrorString");
  }

  static const Functions &loaded() {
    static const Functions functions;
    return functions;
  }

  void check(int result) const { TORCH_CHECK(result == 0 || result == 7, "NCCL: ", get_error_string(result)); }
};

namespace {

constexpr int kFloat32 = 7, kFloat64 = 8, kSum = 0;

}  // namespace

Nccl::Nccl() : functions(Functions::loaded()) {}

Nccl::~Nccl() {
  if (communicator) functions.comm_abort(communicator);
}

NcclId Nccl::new_id() const {
  NcclId id;
  functions.check(functions.get_unique_id(&id));
  return id;
}

void Nccl::join(const NcclId &id, int rank, int ranks, int64_t device_index) {
  const c10::DeviceGuard guard(c10::Device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index)));
  functions.check(functions.comm_init_rank(&communicator, ranks, id, rank));
}

void Nccl::sum(const at::Tensor &tensor) const {
  TORCH_CHECK(tensor.is_contiguous(), "only contiguous tensors can be added up");
  const bool wide = tensor.scalar_type() == at::kDouble;
  TORCH_CHECK(wide || tensor.scalar_type() == at::kFloat, "only tensors of floats can be added up");
  const c10::DeviceGuard guard(tensor.device());
  const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
  void *stream = cuda.getStreamNativeHandle(cuda.getStream(tensor.device()));
  const auto type = wide ? kFloat64 : kFloat32;
  const auto count = size_t(tensor.numel());
  functions.check(
      functions.all_reduce(tensor.data_ptr(), tensor.data_ptr(), count, type, kSum, communicator, stream));
}

void Nccl::check() const {
  int result = 0;
  functions.check(functions.comm_get_async_error(communicator, &result));
  functions.check(result);
}

}  // namespace tengen
