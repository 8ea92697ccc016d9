// NVRTC, which compiles kernels while a program runs. Its machine code is the source itself, in which the driver looks
// kernels up by name. Every function returns the status 0, success, unless it is told to refuse.
#include <cstring>
#include <string>

#include "counters.h"

namespace {

constexpr int compilation_failed = 6;

struct Program {
    std::string source, log;
};

// With the zero at its end.
size_t size_of(const std::string &text) { return text.size() + 1; }

int copy(const std::string &text, char *to) {
    memcpy(to, text.c_str(), size_of(text));
    return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return 0;
}
int nvrtcCreateProgram(Program **program, const char *source, const char *, int, const char *const *,
                       const char *const *) {
    *program = new Program{source, ""};
    return 0;
}
int nvrtcDestroyProgram(Program **program) {
    delete *program;
    *program = nullptr;
    return 0;
}
int nvrtcCompileProgram(Program *program, int, const char *const *) {
    if (null_gpu::setting("REFUSE_KERNELS", 0) == 0) return 0;
    program->log = "the null GPU refuses kernels";
    return compilation_failed;
}
int nvrtcGetCUBINSize(const Program *program, size_t *size) {
    *size = size_of(program->source);
    return 0;
}
int nvrtcGetCUBIN(const Program *program, char *to) { return copy(program->source, to); }
int nvrtcGetProgramLogSize(const Program *program, size_t *size) {
    *size = size_of(program->log);
    return 0;
}
int nvrtcGetProgramLog(const Program *program, char *to) { return copy(program->log, to); }

}  // extern "C"
