// The CUDA driver, libcuda.so.1: libtorch asks it only whether a device has a context, which it always has, and tengen
// for names, compute capabilities, and that threads sleep while they wait.
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}
int cuDeviceGet(int *device, int number) {
    *device = number;
    return 0;
}
int cuDeviceGetName(char *name, int length, int) {
    strncpy(name, "Null", length);
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
    const int capability_major = 75;
    const char *capability = getenv("TENGEN_NULL_GPU_CAPABILITY");
    *value = attribute == capability_major ? (capability ? atoi(capability) : 9) : 0;
    return 0;
}
// The runtime counts it, which is a library of its own.
int cudaSetDeviceFlags(unsigned flags);
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned flags) { return cudaSetDeviceFlags(flags); }
int cuDevicePrimaryCtxGetState(int, unsigned *flags, int *active) {
    *flags = 0;
    *active = 1;
    return 0;
}
int cuCtxGetCurrent(void **context) {
    *context = reinterpret_cast<void *>(uintptr_t{0x10});
    return 0;
}

}  // extern "C"
