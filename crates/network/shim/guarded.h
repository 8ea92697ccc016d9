// Functions that return a tensor to Rust return null on failure and keep the reason for tengen_fused_error.

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <string>

inline std::string &last_error() {
  thread_local std::string text;
  return text;
}

template <class F>
at::Tensor *guarded(F make) {
  try {
    return new at::Tensor(make());
  } catch (const c10::Error &e) {
    last_error() = e.what_without_backtrace();
  } catch (const std::exception &e) {
    last_error() = e.what();
  } catch (...) {
    last_error() = "unknown C++ exception";
  }
  return nullptr;
}
