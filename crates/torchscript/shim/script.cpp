// Records what is computed from some tensors as a module of TorchScript, and saves it.

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

thread_local std::string failure;

}  // namespace

extern "C" {

struct TengenNamed {
  const char *name;
  const at::Tensor *tensor;
};

// Computes the outputs from the inputs. Takes the inputs, and gives the outputs away. Returns 0 on failure.
using TengenCompute = int (*)(void *context, at::Tensor *const *inputs, at::Tensor **outputs);

// Writes a module to a file whose forward method takes the inputs and returns a dictionary of the outputs. Its buffers
// are the constants, whose names must have no dots. The file also holds a text under the name tengen.json. Returns 0 on
// failure.
int tengen_script(const char *path, const char *text, const TengenNamed *constants, size_t constant_count,
                  const TengenNamed *inputs, size_t input_count, const char *const *outputs, size_t output_count,
                  TengenCompute compute, void *context) {
  using namespace torch::jit;
  try {
    Module module("Network");
    for (size_t i = 0; i < constant_count; ++i) module.register_buffer(constants[i].name, *constants[i].tensor);
    Stack stack;
    std::vector<std::string> names;
    for (size_t i = 0; i < input_count; ++i) {
      stack.emplace_back(*inputs[i].tensor);
      names.emplace_back(inputs[i].name);
    }
    const auto forward = [&](Stack given) -> Stack {
      std::vector<at::Tensor *> taken, made(output_count, nullptr);
      for (const auto &input : given) taken.push_back(new at::Tensor(input.toTensor()));
      const bool computed = compute(context, taken.data(), made.data()) != 0;
      c10::Dict<std::string, at::Tensor> named;
      for (size_t i = 0; i < output_count; ++i) {
        const std::unique_ptr<at::Tensor> output(made[i]);
        if (output) named.insert(outputs[i], *output);
      }
      if (!computed) throw std::runtime_error("the outputs cannot be computed");
      return {named};
    };
    const auto name_of = [](const at::Tensor &) { return std::string(); };
    const auto recorded =
        tracer::trace(stack, forward, name_of, /*strict=*/false, /*force_outplace=*/true, &module, names);
    const auto method = module._ivalue()->compilation_unit()->create_function(
        c10::QualifiedName(*module.type()->name(), "forward"), recorded.first->graph);
    module.type()->addMethod(method);
    module.save(path, {{"tengen.json", text}});
    return 1;
  } catch (const c10::Error &error) {
    failure = error.what_without_backtrace();
  } catch (const std::exception &error) {
    failure = error.what();
  }
  return 0;
}

// Why the last call on this thread failed.
const char *tengen_script_error() { return failure.c_str(); }

}  // extern "C"
