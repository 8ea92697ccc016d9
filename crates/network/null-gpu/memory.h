// The memory of the device, and the memory of the host that the device may read.
#pragma once
#include <cstddef>

namespace null_gpu {

// Address space without memory behind it: a program that touches it crashes, as with a real device. Null if the device
// is full.
void *allocate_on_device(size_t bytes);
void free_on_device(void *start);
bool is_on_device(const void *address);

// Total and free bytes of the device.
size_t device_size();
size_t device_left();

void *allocate_pinned(size_t bytes);
void free_pinned(void *start);
// Pins or unpins memory that somebody else allocated.
void pin(void *start, size_t bytes);
void unpin(void *start);
bool is_pinned(const void *address);

}  // namespace null_gpu
