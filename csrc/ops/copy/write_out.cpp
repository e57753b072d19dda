#include "ops/copy/write_out.h"

#include <algorithm>

#include "base/call_section.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/overlap.h"

namespace uh {

bool describes_same(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.dtype() == b.dtype() && a.offset() == b.offset() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

void check_broadcasts_to(IntSpan sizes, IntSpan target, std::string_view op) {
  const size_t shift = target.size() - std::min(target.size(), sizes.size());
  bool ok = sizes.size() <= target.size();
  for (size_t d = 0; ok && d < sizes.size(); ++d)
    ok = sizes[d] == 1 || sizes[d] == target[d + shift];
  check(ok, op, ": the shape ", printed(sizes), " cannot be broadcast to the shape ",
        printed(target), ": sizes are compared from the right; each must be equal or 1");
}

// True if the strides skip bytes between elements.
static bool has_gaps(const Tensor& t) {
  int64_t last = 0;
  for (int64_t d = 0; d < t.ndim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return last + 1 > t.numel();
}

// A resized `out` gets the strides of `result` unless these have gaps: its new storage has room for
// the elements only.
static void take_sizes(const Tensor& out, const Tensor& result) {
  if (out.sizes() == result.sizes()) return;
  const Change change(out.impl(), true);
  ops::resize_(out, result.sizes());
  if (result.numel() == 0 || has_gaps(result)) return;
  if (!(out.strides() == result.strides()) && !has_internal_overlap(result))
    out.impl()->set_layout(Layout{result.sizes(), result.strides(), out.offset()});
}

// Copies a result that shares memory with `out`, as that of an operator that returns its input.
// Otherwise it would change while it is read, and move if `out` is resized.
static Tensor apart_from(const Tensor& out, const Tensor& result) {
  if (result.storage() != out.storage() || out.is_meta()) return result;
  if (!is_host(out.device())) return ops::clone(result, MemoryFormat::kPreserve);
  Tensor copy = empty_like(result, result.dtype());
  copy_on_host(copy, result);
  return copy;
}

static void write(const Tensor& out, const Tensor& result, std::string_view op) {
  check(out.device() == result.device(), op, ": expected out on ", name(result.device()),
        " but it is on ", name(out.device()));
  const Tensor elements = apart_from(out, result);
  take_sizes(out, elements);
  check_no_internal_overlap(out, op);
  if (out.is_meta()) return;
  if (!is_host(out.device())) return ops::copy_(out, elements, false);
  copy_on_host(out, elements);
  record_write(out);
}

void write_exact_out(const Tensor& out, const Tensor& result, std::string_view op) {
  check(out.dtype() == result.dtype(), op, ": Expected out tensor to have dtype ",
        name(result.dtype()), ", but got ", name(out.dtype()), " instead");
  write(out, result, op);
}

void write_self(const Tensor& self, const Tensor& result, std::string_view op) {
  check(self.sizes() == result.sizes(), op, ": output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", result.sizes());
  write_out(self, result, op);
}

void check_out_dtype(const Tensor& out, DType result_dtype, std::string_view op) {
  check(out.dtype() == result_dtype, op, ": found dtype ", info(out.dtype()).title,
        " of out but expected ", info(result_dtype).title);
}

void write_out(const Tensor& out, const Tensor& result, std::string_view op) {
  check(category(result.dtype()) <= category(out.dtype()), op, ": result type ",
        info(result.dtype()).title, " can't be cast to the desired output type ",
        info(out.dtype()).title);
  write(out, result, op);
}

}  // namespace uh
