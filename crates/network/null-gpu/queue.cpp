#include "queue.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace null_gpu {
namespace {

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A place in a stream.
struct Place {
    // When the work before it is done.
    double end = 0;
    const void *stream = nullptr;
    // How much work is before it.
    uint64_t operations = 0;
};

struct Engine {
    std::mutex mutex;
    double busy_until = 0, busy = 0, waited = 0;
    // The work of each stream so far, and the work before each event.
    std::unordered_map<const void *, Place> streams, events;
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

Place place_of(const std::unordered_map<const void *, Place> &places, const void *key) {
    std::lock_guard<std::mutex> lock(engine().mutex);
    auto found = places.find(key);
    return found == places.end() ? Place{} : found->second;
}

thread_local bool capturing = false;
std::atomic<int> captures{0};
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
    Place &place = all.streams[stream];
    place = {all.busy_until, stream, place.operations + 1};
}

double busy_seconds() {
    std::lock_guard<std::mutex> lock(engine().mutex);
    return engine().busy;
}

double waited_seconds() {
    std::lock_guard<std::mutex> lock(engine().mutex);
    return engine().waited;
}

void wait_for_stream(const void *stream) { sleep_until(place_of(engine().streams, stream).end); }

void wait_for_all() {
    double end;
    {
        std::lock_guard<std::mutex> lock(engine().mutex);
        end = engine().busy_until;
    }
    sleep_until(end);
}

bool stream_is_done(const void *stream) { return place_of(engine().streams, stream).end <= now(); }

void record_event(const void *event, const void *stream) {
    Place place = place_of(engine().streams, stream);
    place.end = std::max(place.end, now());
    std::lock_guard<std::mutex> lock(engine().mutex);
    engine().events[event] = place;
}

void wait_for_event(const void *event) {
    Place place = place_of(engine().events, event);
    count(Counter::event_waits);
    if (place_of(engine().streams, place.stream).operations > place.operations) count(Counter::early_waits);
    sleep_until(place.end);
}

bool event_is_done(const void *event) { return place_of(engine().events, event).end <= now(); }

double between_events(const void *start, const void *end) {
    return place_of(engine().events, end).end - place_of(engine().events, start).end;
}

void begin_capture() {
    ++captures;
    capturing = true;
    captured = 0;
}

bool is_capturing() { return capturing; }

bool anyone_is_capturing() { return captures > 0; }

double end_capture() {
    --captures;
    capturing = false;
    return captured;
}

}  // namespace null_gpu
