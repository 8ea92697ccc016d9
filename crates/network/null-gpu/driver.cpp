// The CUDA driver: libtorch asks it only whether a device has a context, which it always has. tengen asks for names,
// compute capabilities, and that threads sleep while they wait, and launches kernels of its own.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "counters.h"

namespace {

constexpr unsigned threads_at_most = 1024, shared_memory_at_most = 48 * 1024;

// Every device has one context. Its handle is the device's number, but never null.
CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1); }
int device_of(CUcontext context) { return static_cast<int>(reinterpret_cast<uintptr_t>(context) - 1); }

// The devices to which a thread returns. The current context is that of the runtime's current device.
thread_local std::vector<int> devices_before;

// The source of the kernels, which NVRTC passes off as machine code.
struct Module {
    std::string source;
};

}  // namespace

extern "C" {

// What libraries with kernels do with the runtime when they are loaded.
void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, void *, void *, void *,
                            void *, int *);

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int number) {
    *device = number;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice) {
    strncpy(name, "Null", static_cast<size_t>(length));
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
    const bool major = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    *value = major ? static_cast<int>(null_gpu::setting("CAPABILITY", 9)) : 0;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    *context = context_of(device);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned flags) {
    return static_cast<CUresult>(cudaSetDeviceFlags(flags));
}
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned *flags, int *active) {
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) {
    int device;
    cudaGetDevice(&device);
    *context = context_of(device);
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    int device;
    cudaGetDevice(&device);
    devices_before.push_back(device);
    cudaSetDevice(device_of(context));
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext *context) {
    if (devices_before.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    cuCtxGetCurrent(context);
    cudaSetDevice(devices_before.back());
    devices_before.pop_back();
    return CUDA_SUCCESS;
}

// Modules and their kernels stay until the program ends.
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    *module = reinterpret_cast<CUmodule>(new Module{static_cast<const char *>(image)});
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    const std::string declared = std::string("__global__ void ") + name + "(";
    if (reinterpret_cast<Module *>(module)->source.find(declared) == std::string::npos) return CUDA_ERROR_NOT_FOUND;
    const char *kept = strdup(name);
    __cudaRegisterFunction(nullptr, kept, nullptr, kept, 0, nullptr, nullptr, nullptr, nullptr, nullptr);
    *function = reinterpret_cast<CUfunction>(const_cast<char *>(kept));
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                        unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_memory,
                        CUstream stream, void **arguments, void **) {
    const uint64_t blocks = uint64_t{blocks_x} * blocks_y * blocks_z;
    const uint64_t threads = uint64_t{threads_x} * threads_y * threads_z;
    if (!blocks || !threads || threads > threads_at_most || shared_memory > shared_memory_at_most)
        return CUDA_ERROR_INVALID_VALUE;
    const dim3 grid(blocks_x, blocks_y, blocks_z), block(threads_x, threads_y, threads_z);
    return static_cast<CUresult>(cudaLaunchKernel(function, grid, block, arguments, shared_memory, stream));
}

}  // extern "C"
