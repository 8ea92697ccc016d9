// All of the shim as one translation unit: libtorch's headers take most of the compiler's time, and are read once.

#include "fused.cpp"
#include "group.cpp"
#include "heads.cpp"
#include "joined_norm.cpp"
#include "linear.cpp"
#include "nccl.cpp"
#include "norm.cpp"
#include "pool.cpp"
#include "stream.cpp"
