#include "counters.h"

#include <cxxabi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "queue.h"

namespace null_gpu {
namespace {

constexpr const char *names[] = {
    "kernel launches",
    "graph launches",
    "graphs captured",
    "captures refused",
    "matrix products",
    "convolutions",
    "normalizations",
    "convolution plans made",
    "copies to device, pinned",
    "copies to device, pageable",
    "copies to host, pinned",
    "copies to host, pageable",
    "copies on device",
    "fills",
    "sums over GPUs",
    "waits for a stream",
    "waits for an event",
    "waits for an event with later work in its queue",
    "waits for the device",
    "devices that are waited for asleep",
    "waits in which a thread spins",
    "waits for the device while a thread captures",
    "questions about captures while there is none",
    "device allocations",
    "device frees",
    "pinned allocations",
    "pinned frees",
};
constexpr size_t kinds = static_cast<size_t>(Counter::count);
static_assert(sizeof names / sizeof *names == kinds, "every counter has a name");

struct Totals {
    std::mutex mutex;
    uint64_t counts[kinds] = {};
    uint64_t bytes[kinds] = {};
    // By the address of the name, which is a literal or belongs to a loaded library.
    std::unordered_map<const char *, uint64_t> operations;
    std::unordered_map<const void *, uint64_t> streams;
};

// Never freed, because libraries still call in after the destructors of this one.
Totals &totals() {
    static Totals &totals = *new Totals;
    return totals;
}

std::string readable(const char *name) {
    int status = 0;
    char *demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    // Names of templates can have thousands of letters.
    std::string text = std::string(demangled ? demangled : name).substr(0, 200);
    free(demangled);
    std::replace(text.begin(), text.end(), '"', '\'');
    std::replace(text.begin(), text.end(), '\\', '/');
    return text;
}

std::vector<uint64_t> descending(const std::unordered_map<const void *, uint64_t> &counts) {
    std::vector<uint64_t> values;
    for (const auto &entry : counts) values.push_back(entry.second);
    std::sort(values.rbegin(), values.rend());
    return values;
}

void write(FILE *file, Totals &totals) {
    fprintf(file, "{\n  \"counts\": {");
    for (size_t kind = 0; kind < kinds; ++kind)
        fprintf(file, "%s\n    \"%s\": %lu", kind ? "," : "", names[kind], totals.counts[kind]);
    fprintf(file, "\n  },\n  \"bytes\": {");
    const char *separator = "";
    for (size_t kind = 0; kind < kinds; ++kind) {
        if (totals.bytes[kind] == 0) continue;
        fprintf(file, "%s\n    \"%s\": %lu", separator, names[kind], totals.bytes[kind]);
        separator = ",";
    }
    fprintf(file, "\n  },\n  \"seconds\": {\"busy\": %.6f, \"waited\": %.6f},", busy_seconds(), waited_seconds());
    fprintf(file, "\n  \"operations per stream\": [");
    separator = "";
    for (uint64_t operations : descending(totals.streams)) {
        fprintf(file, "%s%lu", separator, operations);
        separator = ", ";
    }
    fprintf(file, "],\n  \"operations\": {");
    // Two libraries may hold the same name at two addresses.
    std::map<std::string, uint64_t> by_name;
    for (const auto &entry : totals.operations) by_name[readable(entry.first)] += entry.second;
    std::vector<std::pair<uint64_t, std::string>> sorted;
    for (const auto &entry : by_name) sorted.emplace_back(entry.second, entry.first);
    std::sort(sorted.rbegin(), sorted.rend());
    separator = "";
    for (const auto &entry : sorted) {
        fprintf(file, "%s\n    \"%s\": %lu", separator, entry.second.c_str(), entry.first);
        separator = ",";
    }
    fprintf(file, "\n  }\n}\n");
}

// A child process that inherits the environment but uses no GPU must not overwrite its parent's report.
void report() {
    const char *path = getenv("TENGEN_NULL_GPU_REPORT");
    Totals &all = totals();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (!path || std::all_of(all.counts, all.counts + kinds, [](uint64_t value) { return value == 0; })) return;
    FILE *file = fopen(path, "w");
    if (!file) return perror(path);
    write(file, all);
    fclose(file);
}

const int registered = atexit(report);

}  // namespace

// Programs that end without exit handlers report, too.
extern "C" [[noreturn]] void _exit(int status) {
    report();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

void count(Counter counter, size_t bytes) {
    Totals &all = totals();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.counts[static_cast<size_t>(counter)] += 1;
    all.bytes[static_cast<size_t>(counter)] += bytes;
}

void count_operation(const char *name, const void *stream) {
    Totals &all = totals();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.operations[name] += 1;
    all.streams[stream] += 1;
}

double setting(const char *name, double otherwise) {
    const char *value = getenv((std::string("TENGEN_NULL_GPU_") + name).c_str());
    return value ? atof(value) : otherwise;
}

}  // namespace null_gpu
