// cuBLAS: matrix products, which only take time. Every function returns the status 0, success.
#include <cstdint>
#include <cstring>

#include "queue.h"

namespace {

struct Handle {
    void *stream = nullptr;
};

// A descriptor is only its address.
struct Descriptor {};

int multiply(const char *name, const void *stream) {
    null_gpu::add_work(null_gpu::Counter::matrix_products, name, stream, null_gpu::durations().matrix_product);
    return 0;
}

int make(void **descriptor) {
    *descriptor = new Descriptor;
    return 0;
}

int destroy(void *descriptor) {
    delete static_cast<Descriptor *>(descriptor);
    return 0;
}

}  // namespace

// Callers pass more arguments than the handle; the caller removes them, too.
#define PRODUCT(name) \
    int name(Handle *handle) { return multiply(#name, handle->stream); }

extern "C" {

int cublasCreate_v2(Handle **handle) {
    *handle = new Handle;
    return 0;
}
int cublasDestroy_v2(Handle *handle) {
    delete handle;
    return 0;
}
int cublasSetStream_v2(Handle *handle, void *stream) {
    handle->stream = stream;
    return 0;
}
int cublasSetWorkspace_v2(Handle *, void *, size_t) { return 0; }
int cublasSetMathMode(Handle *, int) { return 0; }
int cublasGetMathMode(Handle *, int *mode) {
    *mode = 0;
    return 0;
}
int cublasSetPointerMode_v2(Handle *, int) { return 0; }
int cublasGetPointerMode_v2(Handle *, int *mode) {
    *mode = 0;
    return 0;
}

PRODUCT(cublasSgemm_v2)
PRODUCT(cublasSgemmEx)
PRODUCT(cublasGemmEx)
PRODUCT(cublasSgemmStridedBatched)
PRODUCT(cublasGemmStridedBatchedEx)
PRODUCT(cublasSgemv_v2)
PRODUCT(cublasSdot_v2)
PRODUCT(cublasDotEx)

// Major, minor, and patch: 13.0.0.
int cublasGetProperty(int property, int *value) {
    *value = property == 0 ? 13 : 0;
    return 0;
}

size_t cublasLtGetVersion() { return 130000; }
int cublasLtMatmul(void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *,
                   void *, void *, void *, const void *, void *, size_t, void *stream) {
    return multiply("cublasLtMatmul", stream);
}
// One algorithm is found, whose description is all zeros.
int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *, int, void *results,
                                   int *found) {
    constexpr size_t size_of_a_result = 96;
    memset(results, 0, size_of_a_result);
    *found = 1;
    return 0;
}
int cublasLtMatmulDescCreate(void **descriptor, int, int) { return make(descriptor); }
int cublasLtMatmulDescDestroy(void *descriptor) { return destroy(descriptor); }
int cublasLtMatmulDescSetAttribute(void *, int, const void *, size_t) { return 0; }
int cublasLtMatmulPreferenceCreate(void **preference) { return make(preference); }
int cublasLtMatmulPreferenceDestroy(void *preference) { return destroy(preference); }
int cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t) { return 0; }
int cublasLtMatrixLayoutCreate(void **layout, int, uint64_t, uint64_t, int64_t) { return make(layout); }
int cublasLtMatrixLayoutDestroy(void *layout) { return destroy(layout); }
int cublasLtMatrixLayoutSetAttribute(void *, int, const void *, size_t) { return 0; }

}  // extern "C"
