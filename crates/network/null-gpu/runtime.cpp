// The CUDA runtime: devices, memory, streams, events, graphs and launches. Signatures are those of CUDA's own header.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "counters.h"
#include "memory.h"
#include "queue.h"

using null_gpu::count;
using null_gpu::Counter;

namespace {

// The figures of an H100, on which libtorch's choices of kernels and block sizes depend.
constexpr int multiprocessors = 132;
constexpr int shared_memory_per_block = 48 * 1024;
constexpr int shared_memory_per_block_at_most = 227 * 1024;
constexpr int version = 13000;

thread_local int current_device = 0;

// CUDA remembers an error until it is asked for it.
thread_local cudaError_t last_error = cudaSuccess;
cudaError_t failed(cudaError_t error) { return last_error = error; }

// Handles of streams and events are numbers that are never used again. Their last digits say on which device they were
// made, and whether whoever waits for them sleeps.
constexpr uintptr_t sleeps = 1, devices_at_most = 128;

void *next_handle(bool asleep = false) {
    static std::atomic<uintptr_t> next{0x1000};
    const uintptr_t device = static_cast<uintptr_t>(current_device) % devices_at_most;
    return reinterpret_cast<void *>((next += 2 * devices_at_most) + 2 * device + (asleep ? sleeps : 0));
}

// The default stream is the one of the current device.
bool is_of_current_device(const void *handle) {
    const uintptr_t device = reinterpret_cast<uintptr_t>(handle) / 2 % devices_at_most;
    return !handle || device == static_cast<uintptr_t>(current_device);
}

// Whether threads that wait for a stream or a device sleep.
std::atomic<bool> sleep_while_waiting{false};

// Kernels by the address of their host function.
struct Kernels {
    std::mutex mutex;
    std::unordered_map<const void *, const char *> names;
};
Kernels &kernels() {
    static Kernels &kernels = *new Kernels;
    return kernels;
}

cudaError_t launch(const void *function, cudaStream_t stream) {
    if (!is_of_current_device(stream)) return failed(cudaErrorInvalidResourceHandle);
    const char *name = "a kernel without a name";
    {
        std::lock_guard<std::mutex> lock(kernels().mutex);
        auto found = kernels().names.find(function);
        if (found != kernels().names.end()) name = found->second;
    }
    null_gpu::add_work(Counter::kernel_launches, name, stream, null_gpu::durations().kernel);
    return cudaSuccess;
}

// What TENGEN_NULL_GPU_REFUSE_CAPTURES lets fail.
enum class Refused { nothing, begin, end, instantiation };

bool refuses(Refused step) {
    static const int refused = static_cast<int>(null_gpu::setting("REFUSE_CAPTURES", 0));
    static std::atomic<int> allowed{static_cast<int>(null_gpu::setting("CAPTURES_BEFORE", 0))};
    if (refused != static_cast<int>(step) || allowed-- > 0) return false;
    count(Counter::captures_refused);
    return true;
}

}  // namespace

extern "C" {

// Registration: what a library with kernels does when it is loaded.

void **__cudaRegisterFatBinary(void *) {
    static void *handle[1];
    return handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, void *, void *, void *,
                            void *, int *) {
    std::lock_guard<std::mutex> lock(kernels().mutex);
    kernels().names[function] = name;
}

// Launches: kernel<<<grid, block, bytes, stream>>> pushes its configuration, and the kernel's host function pops it.

struct Configuration {
    dim3 grid, block;
    size_t bytes;
    void *stream;
};
static thread_local std::vector<Configuration> configurations;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes, void *stream) {
    configurations.push_back({grid, block, bytes, stream});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *bytes, void *stream) {
    Configuration top = configurations.back();
    configurations.pop_back();
    *grid = top.grid;
    *block = top.block;
    *bytes = top.bytes;
    *static_cast<void **>(stream) = top.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(const void **kernel, const void *function) {
    *kernel = function;
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(const void *kernel, dim3, dim3, void **, size_t, cudaStream_t stream) {
    return launch(kernel, stream);
}
cudaError_t cudaLaunchKernel(const void *function, dim3, dim3, void **, size_t, cudaStream_t stream) {
    return launch(function, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *configuration, const void *function, void **) {
    return launch(function, configuration->stream);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *) {
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = 90;
    attributes->maxDynamicSharedSizeBytes = shared_memory_per_block_at_most;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned) {
    *blocks = 8;
    return cudaSuccess;
}

// Devices.

cudaError_t cudaGetDeviceCount(int *devices) {
    *devices = static_cast<int>(null_gpu::setting("DEVICES", 1));
    return *devices > 0 ? cudaSuccess : failed(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *device) {
    *device = current_device;
    return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned flags) {
    sleep_while_waiting = (flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync;
    if (sleep_while_waiting) count(Counter::sleeping_devices);
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    current_device = device;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "null GPU");
    properties->totalGlobalMem = null_gpu::device_size();
    properties->major = 9;
    properties->multiProcessorCount = multiprocessors;
    properties->sharedMemPerBlock = shared_memory_per_block;
    properties->sharedMemPerBlockOptin = shared_memory_per_block_at_most;
    properties->sharedMemPerMultiprocessor = shared_memory_per_block_at_most + 1024;
    properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
    properties->warpSize = 32;
    properties->memPitch = INT32_MAX;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->maxBlocksPerMultiProcessor = 32;
    properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = INT32_MAX;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->totalConstMem = 65536;
    properties->textureAlignment = 512;
    properties->l2CacheSize = 50 << 20;
    properties->memoryBusWidth = 5120;
    properties->asyncEngineCount = 3;
    properties->unifiedAddressing = properties->managedMemory = properties->concurrentKernels = 1;
    properties->streamPrioritiesSupported = properties->canUseHostPointerForRegisteredMem = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
        case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
        case cudaDevAttrMultiProcessorCount: *value = multiprocessors; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = shared_memory_per_block; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_memory_per_block_at_most; break;
        case cudaDevAttrWarpSize: *value = 32; break;
        case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
        default: *value = 1;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int) {
    snprintf(text, static_cast<size_t>(length), "0000:00:00.0");
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    // Not even while another thread captures; what that one captures is then useless.
    if (null_gpu::anyone_is_capturing()) {
        count(Counter::broken_captures);
        return failed(cudaErrorStreamCaptureUnsupported);
    }
    count(Counter::device_waits);
    if (!sleep_while_waiting) count(Counter::spinning_waits);
    null_gpu::wait_for_all();
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *number) {
    *number = version;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *number) {
    *number = version;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
    static void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *function = driver ? dlsym(driver, symbol) : nullptr;
    if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

// Errors.

cudaError_t cudaGetLastError() {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char *cudaGetErrorName(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "an error of the null GPU";
}
const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the null GPU";
}

// Memory.

cudaError_t cudaMalloc(void **start, size_t bytes) {
    count(Counter::device_allocations, bytes);
    *start = bytes ? null_gpu::allocate_on_device(bytes) : nullptr;
    return *start || !bytes ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *start) {
    if (start) count(Counter::device_frees);
    null_gpu::free_on_device(start);
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void **start, size_t bytes, unsigned) {
    count(Counter::pinned_allocations, bytes);
    *start = null_gpu::allocate_pinned(bytes);
    return *start ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void *start) {
    count(Counter::pinned_frees);
    null_gpu::free_pinned(start);
    return cudaSuccess;
}
cudaError_t cudaHostRegister(void *start, size_t bytes, unsigned) {
    null_gpu::pin(start, bytes);
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *start) {
    null_gpu::unpin(start);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    *left = null_gpu::device_left();
    *total = null_gpu::device_size();
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *address) {
    memset(attributes, 0, sizeof *attributes);
    if (null_gpu::is_pinned(address))
        attributes->type = cudaMemoryTypeHost;
    else
        attributes->type = null_gpu::is_on_device(address) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->devicePointer = attributes->hostPointer = const_cast<void *>(address);
    return cudaSuccess;
}

// Copies carry nothing to the device, and zeros back. Those from or to pageable memory make the caller wait.
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    bool to_device = null_gpu::is_on_device(to), from_device = null_gpu::is_on_device(from);
    if (!to_device && !from_device) return failed(cudaErrorInvalidValue);
    auto add = [&](Counter counter) { null_gpu::add_work(counter, "copy", stream, null_gpu::durations().copy, bytes); };
    if (to_device && from_device) {
        add(Counter::copies_on_device);
        return cudaSuccess;
    }
    bool pinned = null_gpu::is_pinned(to_device ? from : to);
    if (!pinned && null_gpu::is_capturing()) return failed(cudaErrorStreamCaptureUnsupported);
    if (to_device) {
        add(pinned ? Counter::copies_to_device_pinned : Counter::copies_to_device_pageable);
    } else {
        add(pinned ? Counter::copies_to_host_pinned : Counter::copies_to_host_pageable);
        memset(to, 0, bytes);
    }
    if (!pinned) null_gpu::wait_for_stream(stream);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    count(Counter::stream_waits);
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    null_gpu::wait_for_stream(nullptr);
    return error;
}
cudaError_t cudaMemsetAsync(void *, int, size_t bytes, cudaStream_t stream) {
    null_gpu::add_work(Counter::fills, "fill", stream, null_gpu::durations().kernel, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemset(void *start, int value, size_t bytes) { return cudaMemsetAsync(start, value, bytes, nullptr); }

// Streams and events.

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) {
    *stream = static_cast<cudaStream_t>(next_handle());
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return null_gpu::stream_is_done(stream) ? cudaSuccess : failed(cudaErrorNotReady);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (null_gpu::is_capturing()) return failed(cudaErrorStreamCaptureUnsupported);
    count(Counter::stream_waits);
    if (!sleep_while_waiting && !null_gpu::stream_is_done(stream)) count(Counter::spinning_waits);
    null_gpu::wait_for_stream(stream);
    return cudaSuccess;
}
// The one engine does all work in the order of the calls, so that whatever comes later already waits for the event.
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned) {
    null_gpu::wait_for_stream(stream);
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    *event = static_cast<cudaEvent_t>(next_handle(flags & cudaEventBlockingSync));
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    if (!is_of_current_device(event) || !is_of_current_device(stream)) return failed(cudaErrorInvalidResourceHandle);
    null_gpu::record_event(event, stream);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return null_gpu::event_is_done(event) ? cudaSuccess : failed(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const bool asleep = reinterpret_cast<uintptr_t>(event) & sleeps;
    if (!asleep && !null_gpu::event_is_done(event)) count(Counter::spinning_waits);
    null_gpu::wait_for_event(event);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    *milliseconds = static_cast<float>(null_gpu::between_events(start, end) * 1e3);
    return cudaSuccess;
}

// Graphs. A graph is only the time that its work takes.

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    if (refuses(Refused::begin)) return failed(cudaErrorStreamCaptureUnsupported);
    null_gpu::begin_capture();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
    const double seconds = null_gpu::end_capture();
    *graph = nullptr;
    if (refuses(Refused::end)) return failed(cudaErrorStreamCaptureInvalidated);
    count(Counter::graphs_captured);
    *graph = reinterpret_cast<cudaGraph_t>(new double(seconds));
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = null_gpu::is_capturing() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *, const cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *) {
    if (id) *id = 1;
    if (!null_gpu::anyone_is_capturing()) count(Counter::idle_questions);
    return cudaStreamIsCapturing(stream, status);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *) { return cudaSuccess; }
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
    if (refuses(Refused::instantiation)) return failed(cudaErrorNotSupported);
    *executable = reinterpret_cast<cudaGraphExec_t>(new double(*reinterpret_cast<double *>(graph)));
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    null_gpu::add_work(Counter::graph_launches, "graph", stream, *reinterpret_cast<double *>(executable));
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t *, size_t *nodes) {
    *nodes = 1;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete reinterpret_cast<double *>(graph);
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete reinterpret_cast<double *>(executable);
    return cudaSuccess;
}

}  // extern "C"
