// What is counted, and the report that is written when the program ends.
#pragma once
#include <cstddef>

namespace null_gpu {

// Each one is an entry of "counts" in the report, under the name that counters.cpp gives it.
enum class Counter {
    kernel_launches,
    graph_launches,
    graphs_captured,
    captures_refused,
    matrix_products,
    convolutions,
    normalizations,
    plans_made,
    copies_to_device_pinned,
    copies_to_device_pageable,
    copies_to_host_pinned,
    copies_to_host_pageable,
    copies_on_device,
    fills,
    sums_over_gpus,
    stream_waits,
    event_waits,
    early_waits,
    device_waits,
    sleeping_devices,
    spinning_waits,
    broken_captures,
    idle_questions,
    device_allocations,
    device_frees,
    pinned_allocations,
    pinned_frees,
    count,
};

// Counts one event, which concerned this many bytes.
void count(Counter counter, size_t bytes = 0);

// Counts one operation in a queue of the device by its name, such as that of a kernel.
void count_operation(const char *name, const void *stream);

// The value of TENGEN_NULL_GPU_<name>, or the default.
double setting(const char *name, double otherwise);

}  // namespace null_gpu
