// Processes that train one network together, through c10d: Gloo on the CPU, NCCL on GPUs.

#define USE_C10D_GLOO

#include "group.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "guarded.h"
#include "nccl.h"

namespace tengen {

struct Group {
  int rank;
  int ranks;
  std::chrono::milliseconds patience;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  std::unique_ptr<Nccl> nccl;
  // Why the connection to the other ranks broke; empty while it holds.
  std::string failure;
};

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds milliseconds(double seconds) { return std::chrono::milliseconds(int64_t(1000 * seconds)); }

// The first line without the place in the source code.
std::string in_short(const std::string &message) {
  std::string line = message.substr(0, message.find('\n'));
  const size_t end = line.find("] ");
  return line.rfind("[", 0) == 0 && end != std::string::npos ? line.substr(end + 2) : line;
}

[[noreturn]] void broke(Group &group, const std::string &why) {
  if (group.failure.empty()) group.failure = in_short(why);
  throw std::runtime_error(group.failure);
}

// Does something that needs the other ranks.
template <class F>
void together(Group &group, F work) {
  if (!group.gloo) broke(group, "the connection is closed");
  try {
    work();
  } catch (const c10::Error &e) {
    broke(group, e.what_without_backtrace());
  } catch (const std::exception &e) {
    broke(group, e.what());
  }
}

std::mutex beginning;

// Waits for what `begin` begins. Threads begin one after another: libtorch's flight recorder notes the groups of a
// process in a map without a lock (PyTorch's pull request 179313).
template <class F>
void complete(F begin) {
  c10::intrusive_ptr<c10d::Work> work;
  {
    const std::lock_guard<std::mutex> one_at_a_time(beginning);
    work = begin();
  }
  work->wait();
}

void sum_on_cpu(Group &group, at::Tensor tensor) {
  std::vector<at::Tensor> tensors{tensor};
  together(group, [&] { complete([&] { return group.gloo->allreduce(tensors); }); });
}

// The tensor in pinned memory of the CPU, complete.
at::Tensor pinned(const at::Tensor &tensor) {
  at::Tensor copy = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
  return copy.copy_(tensor);
}

// libtorch's own warnings about connections repeat what errors say.
void quiet() {
  if (!std::getenv("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = 3;
}

auto network_device() {
  const char *name = std::getenv("GLOO_SOCKET_IFNAME");
  return name && *name ? c10d::ProcessGroupGloo::createDeviceForInterface(name)
                       : c10d::ProcessGroupGloo::createDefaultDevice();
}

std::string present_key(int rank) { return "present/" + std::to_string(rank); }

// Whether `work` succeeds on all ranks, which must all ask.
template <class F>
bool all_can(Group &group, F work) {
  const bool can = succeeds(work);
  at::Tensor count = at::full({1}, can ? 1.0 : 0.0, at::kDouble);
  sum_on_cpu(group, count);
  return count.item<double>() == group.ranks;
}

}  // namespace

void sum(Group &group, const at::Tensor &tensor) {
  if (!tensor.is_cuda()) return sum_on_cpu(group, tensor);
  if (group.nccl) return together(group, [&] { group.nccl->sum(tensor); });
  const at::Tensor copy = pinned(tensor);
  sum_on_cpu(group, copy);
  tensor.copy_(copy, /*non_blocking=*/true);
}

}  // namespace tengen

extern "C" {

using tengen::Group;

// Meets the other ranks at host:port, where rank 0 listens unless another program does, and connects to them. Null on
// failure.
Group *tengen_group_join(const char *host, uint16_t port, int listen, const char *prefix, int rank, int ranks,
                         double meeting_seconds, double seconds) {
  Group *group = nullptr;
  succeeds([&] {
    tengen::quiet();
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = listen != 0;
    options.numWorkers = size_t(ranks);
    options.timeout = tengen::milliseconds(meeting_seconds);
    auto all = c10::make_intrusive<c10d::TCPStore>(host, options);
    auto store = c10::make_intrusive<c10d::PrefixStore>(prefix, all);
    auto how = c10d::ProcessGroupGloo::Options::create(options.timeout);
    how->devices.push_back(tengen::network_device());
    auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, ranks, how);
    gloo->setTimeout(tengen::milliseconds(seconds));
    group = new Group{rank, ranks, tengen::milliseconds(seconds), store, gloo, nullptr, ""};
  });
  return group;
}

void tengen_group_leave(Group *group) {
  succeeds([&] { delete group; });
}

int tengen_group_sum(Group *group, const at::Tensor *tensor) {
  return succeeds([&] { tengen::sum(*group, *tensor); });
}

// Replaces a tensor by that of rank 0.
int tengen_group_from_first(Group *group, const at::Tensor *tensor) {
  return succeeds([&] {
    at::Tensor copy = tensor->to(at::kCPU).contiguous();
    std::vector<at::Tensor> tensors{copy};
    tengen::together(*group, [&] { tengen::complete([&] { return group->gloo->broadcast(tensors); }); });
    tensor->copy_(copy);
  });
}

// Adds up tensors on GPUs by NCCL from now on, if all ranks can. Otherwise, they go through the CPU.
int tengen_group_use_nccl(Group *group, int64_t device_index) {
  return succeeds([&] {
    last_error().clear();
    std::unique_ptr<tengen::Nccl> nccl;
    at::Tensor id = at::zeros({int64_t(sizeof(tengen::NcclId))}, at::kByte);
    auto *bytes = static_cast<tengen::NcclId *>(id.data_ptr());
    const bool loaded = tengen::all_can(*group, [&] {
      nccl = std::make_unique<tengen::Nccl>();
      if (group->rank == 0) *bytes = nccl->new_id();
    });
    TORCH_CHECK(loaded, last_error().empty() ? "another rank has no NCCL" : last_error());
    TORCH_CHECK(tengen_group_from_first(group, &id), last_error());
    const bool joined =
        tengen::all_can(*group, [&] { nccl->join(*bytes, group->rank, group->ranks, device_index); });
    TORCH_CHECK(joined, last_error().empty() ? "NCCL failed on another rank" : last_error());
    group->nccl = std::move(nccl);
  });
}

// Waits for the GPU work of the calling thread, whose sums may never end if another rank has died.
int tengen_group_finish(Group *group, int64_t device_index) {
  return succeeds([&] {
    if (!group->nccl) return;
    tengen::together(*group, [&] {
      const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
      c10::Event event(c10::DeviceType::CUDA);
      event.record(cuda.getStream(c10::Device(c10::DeviceType::CUDA, c10::DeviceIndex(device_index))));
      const auto end = tengen::Clock::now() + group->patience;
      while (!event.query()) {
        group->nccl->check();
        TORCH_CHECK(tengen::Clock::now() < end, "timed out");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  });
}

// Why the connection broke; empty while it holds. Valid until the group is left.
const char *tengen_group_failure(const Group *group) { return group->failure.c_str(); }

// Closes the connections, so that every rank notices, and finds out which ranks notice within `seconds`: their places
// in `present` become 1.
void tengen_group_muster(Group *group, double seconds, uint8_t *present) {
  present[group->rank] = 1;
  const bool asked = succeeds([&] {
    group->nccl.reset();
    group->gloo.reset();
    group->store->set(tengen::present_key(group->rank), std::vector<uint8_t>{1});
  });
  // Nobody listens any more.
  if (!asked) {
    std::fill(present + 1, present + group->ranks, uint8_t(1));
    return;
  }
  const auto end = tengen::Clock::now() + tengen::milliseconds(seconds);
  succeeds([&] {
    int missing = group->ranks - 1;
    while (missing > 0 && tengen::Clock::now() < end) {
      for (int rank = 0; rank < group->ranks; ++rank) {
        if (present[rank] || !group->store->check({tengen::present_key(rank)})) continue;
        present[rank] = 1;
        --missing;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

}  // extern "C"
