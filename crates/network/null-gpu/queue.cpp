#include "queue.h"

#include <time.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace null_gpu {
namespace {

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Engine {
    std::mutex mutex;
    double busy_until = 0, busy = 0, waited = 0;
    // When the last work of each stream, and the work before each event, is done.
    std::unordered_map<const void *, double> streams, events;
};

// Never freed, because libraries still call in after the destructors of this one.
Engine &engine() {
    static Engine &engine = *new Engine;
    return engine;
}

void sleep_until(double end) {
    double start = now(), left = end - start;
    if (left <= 0) return;
    timespec time;
    time.tv_sec = static_cast<time_t>(left);
    time.tv_nsec = static_cast<long>((left - static_cast<double>(time.tv_sec)) * 1e9);
    nanosleep(&time, nullptr);
    std::lock_guard<std::mutex> lock(engine().mutex);
    engine().waited += now() - start;
}

double end_of(std::unordered_map<const void *, double> &ends, const void *key) {
    std::lock_guard<std::mutex> lock(engine().mutex);
    auto found = ends.find(key);
    return found == ends.end() ? 0 : found->second;
}

thread_local bool capturing = false;
thread_local double captured = 0;

}  // namespace

const Durations &durations() {
    static const Durations durations = {
        setting("KERNEL_US", 0) * 1e-6,
        setting("CONVOLUTION_US", 0) * 1e-6,
        setting("MATRIX_PRODUCT_US", 0) * 1e-6,
        setting("COPY_US", 0) * 1e-6,
    };
    return durations;
}

void add_work(Counter counter, const char *name, const void *stream, double seconds, size_t bytes) {
    if (capturing) {
        captured += seconds;
        return;
    }
    count(counter, bytes);
    count_operation(name, stream);
    Engine &all = engine();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (seconds > 0) all.busy_until = std::max(now(), all.busy_until) + seconds;
    all.busy += seconds;
    all.streams[stream] = all.busy_until;
}

double busy_seconds() {
    std::lock_guard<std::mutex> lock(engine().mutex);
    return engine().busy;
}

double waited_seconds() {
    std::lock_guard<std::mutex> lock(engine().mutex);
    return engine().waited;
}

void wait_for_stream(const void *stream) { sleep_until(end_of(engine().streams, stream)); }

void wait_for_all() {
    double end;
    {
        std::lock_guard<std::mutex> lock(engine().mutex);
        end = engine().busy_until;
    }
    sleep_until(end);
}

bool stream_is_done(const void *stream) { return end_of(engine().streams, stream) <= now(); }

void record_event(const void *event, const void *stream) {
    double end = end_of(engine().streams, stream);
    std::lock_guard<std::mutex> lock(engine().mutex);
    engine().events[event] = std::max(end, now());
}

void wait_for_event(const void *event) { sleep_until(end_of(engine().events, event)); }

bool event_is_done(const void *event) { return end_of(engine().events, event) <= now(); }

double between_events(const void *start, const void *end) {
    return end_of(engine().events, end) - end_of(engine().events, start);
}

void begin_capture() {
    capturing = true;
    captured = 0;
}

bool is_capturing() { return capturing; }

double end_capture() {
    capturing = false;
    return captured;
}

}  // namespace null_gpu
