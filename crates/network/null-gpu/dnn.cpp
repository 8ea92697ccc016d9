// cuDNN: convolutions as plans of its backend interface, and batch normalization as its older functions. Every function
// returns the status 0, success. The few numbers of cuDNN's enumerations that matter here are named below.
#include <cstdint>
#include <cstring>

#include "counters.h"
#include "queue.h"

using null_gpu::Counter;

namespace {

struct Handle {
    void *stream = nullptr;
};

// A descriptor is only its address.
struct Descriptor {};

constexpr int execution_plan = 5;
constexpr int heuristic_results = 202, engine_of_configuration = 300;
constexpr int type_int64 = 3, type_double = 5, type_pointer = 6;
constexpr int type_numerical_note = 11, type_descriptor = 15, type_behavior_note = 19;

int make(void **descriptor) {
    *descriptor = new Descriptor;
    return 0;
}

int destroy(void *descriptor) {
    delete static_cast<Descriptor *>(descriptor);
    return 0;
}

int normalize(const char *name, Handle *handle) {
    null_gpu::add_work(Counter::normalizations, name, handle->stream, null_gpu::durations().kernel);
    return 0;
}

}  // namespace

extern "C" {

int cudnnCreate(Handle **handle) {
    *handle = new Handle;
    return 0;
}
int cudnnDestroy(Handle *handle) {
    delete handle;
    return 0;
}
int cudnnSetStream(Handle *handle, void *stream) {
    handle->stream = stream;
    return 0;
}
int cudnnGetStream(Handle *handle, void **stream) {
    *stream = handle->stream;
    return 0;
}
size_t cudnnGetVersion() { return 91900; }
size_t cudnnGetCudartVersion() { return 13000; }
const char *cudnnGetErrorString(int) { return "an error of the null GPU"; }
void cudnnGetLastErrorString(char *text, size_t length) {
    if (length) *text = 0;
}

int cudnnBackendCreateDescriptor(int type, void **descriptor) {
    if (type == execution_plan) null_gpu::count(Counter::plans_made);
    return make(descriptor);
}
int cudnnBackendDestroyDescriptor(void *descriptor) { return destroy(descriptor); }
int cudnnBackendFinalize(void *) { return 0; }
int cudnnBackendSetAttribute(void *, int, int, int64_t, const void *) { return 0; }
int cudnnBackendGetAttribute(void *, int attribute, int type, int64_t wanted, int64_t *found, void *values) {
    int64_t count = 1;
    if (type == type_descriptor) {
        // One configuration is recommended, and it has one engine.
        count = attribute == heuristic_results || attribute == engine_of_configuration;
    } else if (type == type_numerical_note || type == type_behavior_note) {
        count = 0;
    } else if (values && wanted > 0) {
        bool is_long = type == type_int64 || type == type_double || type == type_pointer;
        memset(values, 0, (is_long ? 8 : 4) * static_cast<size_t>(wanted));
    }
    if (found) *found = count;
    return 0;
}
int cudnnBackendExecute(Handle *handle, void *, void *) {
    null_gpu::add_work(Counter::convolutions, "convolution", handle->stream, null_gpu::durations().convolution);
    return 0;
}

int cudnnCreateTensorDescriptor(void **descriptor) { return make(descriptor); }
int cudnnDestroyTensorDescriptor(void *descriptor) { return destroy(descriptor); }
int cudnnSetTensorNdDescriptor(void *, int, int, const int *, const int *) { return 0; }
int cudnnCreateActivationDescriptor(void **descriptor) { return make(descriptor); }
int cudnnDestroyActivationDescriptor(void *descriptor) { return destroy(descriptor); }
int cudnnSetActivationDescriptor(void *, int, int, double) { return 0; }
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle *, int, int, void *, void *, void *, void *, void *,
                                                             size_t *bytes) {
    *bytes = 0;
    return 0;
}
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle *, int, int, void *, void *, size_t *bytes) {
    *bytes = 0;
    return 0;
}
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle *, int, int, void *, void *, void *, void *, void *,
                                                      void *, void *, size_t *bytes) {
    *bytes = 0;
    return 0;
}
// Callers pass more arguments than the handle; the caller removes them, too.
int cudnnBatchNormalizationForwardTrainingEx(Handle *handle) { return normalize("normalization", handle); }
int cudnnBatchNormalizationBackwardEx(Handle *handle) { return normalize("normalization, backward", handle); }
int cudnnBatchNormalizationForwardInference(Handle *handle) { return normalize("normalization in play", handle); }

}  // extern "C"
