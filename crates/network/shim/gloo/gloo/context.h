// The few declarations of Gloo that c10d's headers need. libtorch contains Gloo, but its wheel lacks Gloo's headers; the
// shim only passes pointers through.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Algorithm;

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport

namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string &key, const std::vector<char> &data) = 0;
  virtual std::vector<char> get(const std::string &key) = 0;
  virtual void wait(const std::vector<std::string> &keys) = 0;
  virtual void wait(const std::vector<std::string> &keys, const std::chrono::milliseconds &timeout) = 0;
};
}  // namespace rendezvous

}  // namespace gloo
