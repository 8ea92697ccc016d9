// Functions that Rust calls return null or false on failure and keep the reason for the next call that asks for it.

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <string>

inline std::string &last_error() {
  thread_local std::string text;
  return text;
}

// Whether `work` ended without an exception.
template <class F>
bool succeeds(F work) {
  try {
    work();
    return true;
  } catch (const c10::Error &e) {
    last_error() = e.what_without_backtrace();
  } catch (const std::exception &e) {
    last_error() = e.what();
  } catch (...) {
    last_error() = "unknown C++ exception";
  }
  return false;
}

// The tensor that `make` returns, for Rust to own.
template <class F>
at::Tensor *guarded(F make) {
  at::Tensor *made = nullptr;
  succeeds([&] { made = new at::Tensor(make()); });
  return made;
}
