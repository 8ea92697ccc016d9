// The CUDA driver, libcuda.so.1: libtorch asks it only whether a device has a context. It always has one.
#include <cstdint>

extern "C" {

int cuInit(unsigned) { return 0; }
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
