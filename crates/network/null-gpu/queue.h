// When would the work be done? One engine does all work, first come, first served. By default, work takes no time.
#pragma once
#include <cstddef>

#include "counters.h"

namespace null_gpu {

// Seconds for each kind of work, from TENGEN_NULL_GPU_KERNEL_US and so on.
struct Durations {
    double kernel, convolution, matrix_product, copy;
};
const Durations &durations();

// Adds work to a stream and counts it. While the calling thread captures a graph, only the graph gets longer.
void add_work(Counter counter, const char *name, const void *stream, double seconds, size_t bytes = 0);

// Waits until all work of a stream, or of all streams, is done.
void wait_for_stream(const void *stream);
void wait_for_all();
bool stream_is_done(const void *stream);

// How long the engine has been given work for, and how long callers have waited for it, all threads together.
double busy_seconds();
double waited_seconds();

// Events mark a place in a stream.
void record_event(const void *event, const void *stream);
// Waits, and counts it, also whether the stream has been given work since, so that it goes on meanwhile.
void wait_for_event(const void *event);
bool event_is_done(const void *event);
// Seconds from one event to another.
double between_events(const void *start, const void *end);

// Graphs: work that is captured once and launched as a whole.
void begin_capture();
bool is_capturing();
bool anyone_is_capturing();
// The seconds that the captured work takes.
double end_capture();

}  // namespace null_gpu
