// Linear layers for prediction on the CPU.

#include <ATen/ops/empty.h>

#include "guarded.h"
#include "product.h"

namespace {

TENGEN_CLONES void products(const float *x, int64_t rows, int64_t inputs, const float *table, int64_t outputs,
                            int64_t stride, const float *bias, float *out) {
  const int64_t width = outputs + kColumns;
  for (int64_t row = 0; row < rows; ++row, x += inputs, out += width) {
    std::copy_n(bias, width, out);
    add_product(x, inputs, table, outputs, stride, out);
  }
}

}  // namespace

extern "C" {

// [B, outputs] from [B, inputs], a table [inputs, stride], and a bias [stride], all fp32: the outputs from column `first`
// on. At least kColumns columns follow them.
at::Tensor *tengen_linear(const at::Tensor *x, const at::Tensor *table, const at::Tensor *bias, int64_t first,
                          int64_t outputs) {
  return guarded([&] {
    const at::Tensor rows = x->contiguous();
    const int64_t inputs = table->size(0), stride = table->size(1);
    TORCH_CHECK(rows.dim() == 2 && rows.size(1) == inputs, "a linear layer expects ", inputs, " inputs");
    TORCH_CHECK(first + outputs + kColumns <= stride && bias->size(0) == stride, "a table of another width");
    const at::Tensor out = at::empty({rows.size(0), outputs + kColumns}, rows.options());
    products(rows.data_ptr<float>(), rows.size(0), inputs, table->data_ptr<float>() + first, outputs, stride,
             bias->data_ptr<float>() + first, out.data_ptr<float>());
    return out.narrow(1, 0, outputs);
  });
}

}  // extern "C"
