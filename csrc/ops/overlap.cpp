#include "ops/overlap.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "tensor/dense.h"

namespace uh {
namespace {

// PyTorch's MemOverlapStatus.
enum class Overlap { kNo, kFull, kPartial, kTooHard };

[[noreturn]] void refuse(std::string_view op) {
  fail(ErrorKind::kRuntime, op,
       ": unsupported operation: some elements of the input tensor and the written-to tensor "
       "refer to a single memory location. Please clone() the tensor before performing the "
       "operation.");
}

// The bytes of a strided tensor's elements.
struct Bytes {
  const Layout& layout;
  int64_t width;

  int64_t first() const { return layout.offset * width; }
  int64_t last() const {
    int64_t at = layout.offset;
    for (size_t d = 0; d < layout.sizes.size(); ++d)
      at += (layout.sizes[d] - 1) * layout.strides[d];
    return (at + 1) * width - 1;
  }
  bool empty() const { return numel_of(layout.sizes) == 0; }
};
Bytes bytes_of(const Tensor& t) { return {t.impl()->layout(), itemsize(t.dtype())}; }

// Compares two tensors of one Storage.
Overlap overlap(const Bytes& a, const Bytes& b) {
  if (a.empty() || b.empty()) return Overlap::kNo;
  if (!is_dense(a.layout) || !is_dense(b.layout)) return Overlap::kTooHard;
  const int64_t first = a.first(), last = a.last();
  if (first == b.first() && last == b.last())
    return a.layout.strides == b.layout.strides ? Overlap::kFull : Overlap::kPartial;
  return first <= b.last() && b.first() <= last ? Overlap::kPartial : Overlap::kNo;
}

Overlap overlap(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return Overlap::kFull;
  if (a.storage() != b.storage()) [[likely]]
    return Overlap::kNo;
  return overlap(bytes_of(a), bytes_of(b));
}

// Returns whether sum(step[i] * x[i]) == remainder has a solution with 0 <= x[i] <= max_x[i]. Steps
// descend; `reach` and `divisor` are the sum and gcd over the steps from i on. Strides of views of
// one tensor are nested, so few values of each x are possible; `budget` bounds the other searches,
// and true is returned when it is spent.
struct Term {
  int64_t step, max_x, reach = 0, divisor = 0;
};
bool solvable(const std::vector<Term>& terms, size_t i, int64_t remainder, int64_t& budget) {
  if (remainder == 0) return true;
  if (i == terms.size() || remainder < 0 || remainder > terms[i].reach ||
      remainder % terms[i].divisor != 0)
    return false;
  if (--budget < 0) return true;
  const Term& term = terms[i];
  const int64_t beyond = i + 1 < terms.size() ? terms[i + 1].reach : 0;
  const int64_t low = remainder > beyond ? (remainder - beyond + term.step - 1) / term.step : 0;
  for (int64_t x = std::min(term.max_x, remainder / term.step); x >= low; --x) {
    if (solvable(terms, i + 1, remainder - x * term.step, budget)) return true;
  }
  return false;
}

// Returns whether any byte belongs to both: whether a.first + sum(a) == b.first + sum(b) has a
// solution. Offsets into b are counted from its end, so that all terms are added.
bool share_bytes(const Bytes& a, const Bytes& b) {
  if (a.empty() || b.empty() || a.last() < b.first() || b.last() < a.first()) return false;
  std::vector<Term> terms;
  const auto add = [&](int64_t step, int64_t limit) {
    if (step == 0 || limit == 0) return;
    const auto same = std::find_if(terms.begin(), terms.end(),
                                   [&](const Term& term) { return term.step == step; });
    same == terms.end() ? terms.push_back({step, limit}) : void(same->max_x += limit);
  };
  for (const Bytes* bytes : {&a, &b}) {
    for (size_t d = 0; d < bytes->layout.sizes.size(); ++d)
      add(bytes->layout.strides[d] * bytes->width, bytes->layout.sizes[d] - 1);
  }
  // Elements of equal width are aligned to it: they share their first byte or no byte.
  const bool even = a.width == b.width;
  if (!even) add(1, a.width - 1 + b.width - 1);
  std::sort(terms.begin(), terms.end(),
            [](const Term& x, const Term& y) { return x.step > y.step; });
  int64_t reach = 0, divisor = 0;
  for (size_t i = terms.size(); i-- > 0;) {
    terms[i].reach = reach += terms[i].step * terms[i].max_x;
    terms[i].divisor = divisor = std::gcd(divisor, terms[i].step);
  }
  const int64_t end_of_b = even ? b.last() - (b.width - 1) : b.last();
  int64_t budget = 100'000;
  return solvable(terms, 0, end_of_b - a.first(), budget);
}

// Returns whether `read`, broadcast to the sizes of `written`, has the same element at every index.
bool same_elements(const Bytes& written, const Bytes& read) {
  if (written.width != read.width || written.first() != read.first()) return false;
  const Layout &to = written.layout, &from = read.layout;
  if (from.sizes.size() > to.sizes.size()) return false;
  const size_t shift = to.sizes.size() - from.sizes.size();
  for (size_t d = 0; d < to.sizes.size(); ++d) {
    if (to.sizes[d] == 1) continue;
    if (d < shift || from.sizes[d - shift] != to.sizes[d]) return false;
    if (from.strides[d - shift] != to.strides[d]) return false;
  }
  return true;
}

}  // namespace

void check_no_internal_overlap(const Tensor& self, std::string_view op) {
  check(
      !has_internal_overlap(self), op,
      ": unsupported operation: more than one element of the written-to tensor refers to a single "
      "memory location (sizes ",
      self.sizes(), ", strides ", self.strides(),
      "). Please clone() the tensor before performing the operation.");
}

void check_no_partial_overlap(const Tensor& written, const Tensor& read, std::string_view op) {
  if (overlap(written, read) == Overlap::kPartial) refuse(op);
}

void check_no_overlap(const Tensor& written, const Tensor& read, std::string_view op) {
  if (!read) return;
  const Overlap match = overlap(written, read);
  if (match == Overlap::kPartial || match == Overlap::kFull) refuse(op);
}

void check_out_overlap(const Tensor& out, const Dims& sizes, const Tensor& read, bool any,
                       std::string_view op) {
  if (!read || out.storage() != read.storage()) [[likely]]
    return;
  any ? check_no_overlap(out, read, op) : check_no_partial_overlap(out, read, op);
  if (out.sizes() == sizes) return;
  const Layout grown{sizes, contiguous_strides(sizes), out.offset()};
  const Overlap then = overlap({grown, itemsize(out.dtype())}, bytes_of(read));
  if (then == Overlap::kPartial || (any && then == Overlap::kFull)) refuse(op);
}

void check_read_in_place(const Tensor& written, const Layout& layout, const Tensor& read,
                         std::string_view op) {
  if (written.storage() != read.storage()) [[likely]]
    return;
  const Bytes to{layout, itemsize(written.dtype())}, from = bytes_of(read);
  if (!same_elements(to, from) && share_bytes(to, from)) refuse(op);
}

bool reads_elsewhere(const Tensor& written, const Tensor& read) {
  if (written.storage() != read.storage()) [[likely]]
    return false;
  const Bytes to = bytes_of(written), from = bytes_of(read);
  return !same_elements(to, from) && share_bytes(to, from);
}

bool share_bytes(const Tensor& written, const Tensor& read) {
  return written.storage() == read.storage() && share_bytes(bytes_of(written), bytes_of(read));
}

void check_disjoint(const Tensor& written, const Tensor& read, std::string_view op) {
  if (!read || written.storage() != read.storage()) [[likely]]
    return;
  check_no_overlap(written, read, op);
  if (share_bytes(bytes_of(written), bytes_of(read))) refuse(op);
}

}  // namespace uh
