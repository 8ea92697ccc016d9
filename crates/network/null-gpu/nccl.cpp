// NCCL: sums over the GPUs of several processes, which only take time. Functions return the status 0, success, unless
// they are told to refuse.
#include <cstddef>
#include <cstring>

#include "counters.h"
#include "queue.h"

namespace {

constexpr int system_error = 2;

struct Id {
    char bytes[128];
};

// A communicator is only its address.
struct Communicator {};

int unless_refused() { return null_gpu::setting("REFUSE_NCCL", 0) == 0 ? 0 : system_error; }

}  // namespace

extern "C" {

int ncclGetVersion(int *version) {
    *version = 22809;
    return 0;
}
const char *ncclGetErrorString(int) { return "the null GPU refuses NCCL"; }
int ncclGetUniqueId(Id *id) {
    memset(id, 0, sizeof *id);
    return unless_refused();
}
int ncclCommInitRank(Communicator **communicator, int, Id, int) {
    *communicator = new Communicator;
    return unless_refused();
}
int ncclCommAbort(Communicator *communicator) {
    delete communicator;
    return 0;
}
int ncclCommGetAsyncError(Communicator *, int *error) {
    *error = 0;
    return 0;
}
int ncclAllReduce(const void *, void *, size_t, int, int, Communicator *, void *stream) {
    null_gpu::add_work(null_gpu::Counter::sums_over_gpus, "sum over GPUs", stream, null_gpu::durations().kernel);
    return 0;
}

}  // extern "C"
