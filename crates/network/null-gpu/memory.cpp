#include "memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

#include "counters.h"

namespace null_gpu {
namespace {

// Ranges of addresses that do not overlap.
class Ranges {
public:
    void add(const void *start, size_t bytes) { sizes[address(start)] = bytes; }

    // Returns the size of the range, or 0 if there is none.
    size_t remove(const void *start) {
        auto found = sizes.find(address(start));
        if (found == sizes.end()) return 0;
        size_t bytes = found->second;
        sizes.erase(found);
        return bytes;
    }

    bool contains(const void *place) const {
        auto next = sizes.upper_bound(address(place));
        if (next == sizes.begin()) return false;
        --next;
        return address(place) < next->first + next->second;
    }

private:
    static uintptr_t address(const void *place) { return reinterpret_cast<uintptr_t>(place); }
    std::map<uintptr_t, size_t> sizes;
};

struct Memory {
    std::mutex mutex;
    Ranges device, pinned;
    size_t taken = 0;
};

// Never freed, because libraries still call in after the destructors of this one.
Memory &memory() {
    static Memory &memory = *new Memory;
    return memory;
}

constexpr size_t page = 4096;

}  // namespace

size_t device_size() {
    static const size_t size = static_cast<size_t>(setting("OOM_MB", 80 * 1024) * 1024 * 1024);
    return size;
}

size_t device_left() {
    std::lock_guard<std::mutex> lock(memory().mutex);
    return device_size() - memory().taken;
}

void *allocate_on_device(size_t bytes) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    if (bytes > device_size() - memory().taken) return nullptr;
    void *start = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    memory().device.add(start, bytes);
    memory().taken += bytes;
    return start;
}

void free_on_device(void *start) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    size_t bytes = memory().device.remove(start);
    if (bytes) munmap(start, bytes);
    memory().taken -= bytes;
}

bool is_on_device(const void *address) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    return memory().device.contains(address);
}

void *allocate_pinned(size_t bytes) {
    void *start = nullptr;
    if (posix_memalign(&start, page, bytes)) return nullptr;
    pin(start, bytes);
    return start;
}

void free_pinned(void *start) {
    unpin(start);
    free(start);
}

void pin(void *start, size_t bytes) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    memory().pinned.add(start, bytes);
}

void unpin(void *start) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    memory().pinned.remove(start);
}

bool is_pinned(const void *address) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    return memory().pinned.contains(address);
}

}  // namespace null_gpu
