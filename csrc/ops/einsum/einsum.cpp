// einsum: all operands are permuted to one set of dimensions (the output's, then the summed ones;
// size 1 where an operand has none), and each pair is contracted by a bmm.
#include <algorithm>
#include <array>

#include "generated/kernels/einsum.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/linalg.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/einsum/equation.h"
#include "ops/linalg/matrices.h"

namespace uh::kernels {
namespace {

Tensor sum_over(const Tensor& t, const Dims& dims, bool keepdim) {
  return dims.empty() ? t : ops::sum(t, dims, keepdim, DType::kUndefined);
}

// The dimension of each label in the common space. An ellipsis has several, consecutive ones.
struct Space {
  std::array<int64_t, kLabels + 1> dim;
  int64_t ellipsis_rank = 0;
  int64_t output_rank = 0;
  int64_t rank = 0;

  Space() { dim.fill(-1); }
  void add(Label label) {
    dim[static_cast<size_t>(label)] = rank;
    rank += label == kEllipsis ? ellipsis_rank : 1;
  }
  bool has(Label label) const { return dim[static_cast<size_t>(label)] >= 0; }
};

int64_t count_of(const std::vector<Label>& labels, Label label) {
  return std::count(labels.begin(), labels.end(), label);
}

// Checks ranks, and returns the number of dimensions of "...".
int64_t ellipsis_rank(const Equation& equation, const std::vector<Tensor>& tensors) {
  int64_t result = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& labels = equation.inputs[i];
    const int64_t ellipses = count_of(labels, kEllipsis);
    const auto named = static_cast<int64_t>(labels.size()) - ellipses;
    const int64_t ndim = tensors[i].ndim();
    check(ellipses ? named <= ndim : named == ndim,
          "einsum(): the number of subscripts in the equation (", named, ") ",
          ellipses ? "is more than the number of dimensions ("
                   : "does not match the number of dimensions (",
          ndim, ") for operand ", i, ellipses ? "" : " and no ellipsis was given");
    if (ellipses) result = std::max(result, ndim - named);
  }
  return result;
}

Space make_space(const Equation& equation, int64_t ellipsis_rank) {
  Space space;
  space.ellipsis_rank = ellipsis_rank;
  std::array<int64_t, kLabels + 1> uses{};
  for (const auto& labels : equation.inputs)
    for (Label label : labels) ++uses[static_cast<size_t>(label)];
  if (equation.has_output) {
    for (Label label : equation.output) space.add(label);
  } else {  // labels that occur once, in order; "..." first
    space.add(kEllipsis);
    for (Label label = 0; label < kLabels; ++label)
      if (uses[static_cast<size_t>(label)] == 1) space.add(label);
  }
  space.output_rank = space.rank;
  if (!space.has(kEllipsis)) space.add(kEllipsis);
  for (Label label = 0; label < kLabels; ++label)
    if (uses[static_cast<size_t>(label)] > 0 && !space.has(label)) space.add(label);
  return space;
}

// Permutes an operand to the common space. A repeated label takes the diagonal.
Tensor placed(const Tensor& tensor, const std::vector<Label>& labels, const Space& space,
              size_t number) {
  Tensor t = tensor;
  Dims from(static_cast<size_t>(space.rank), -1);  // dimension of t, by dimension of the space
  int64_t at = 0;
  for (Label label : labels) {
    int64_t& first = from[static_cast<size_t>(
        std::min(space.dim[static_cast<size_t>(label)], std::max<int64_t>(space.rank - 1, 0)))];
    if (label == kEllipsis) {
      const int64_t own = tensor.ndim() - (static_cast<int64_t>(labels.size()) - 1);
      const int64_t start = space.dim[kEllipsis] + space.ellipsis_rank - own;
      for (int64_t i = 0; i < own; ++i) from[static_cast<size_t>(start + i)] = at++;
    } else if (first < 0) {
      first = at++;
    } else {
      check(t.size(first) == t.size(at), "einsum(): subscript ", letter_of(label),
            " is repeated for operand ", number, " but the sizes don't match, ", t.size(at),
            " != ", t.size(first));
      t = ops::movedim(ops::diagonal(t, 0, first, at), {-1}, {first});
    }
  }
  Dims order(from.size());
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] < 0) {
      t = ops::unsqueeze(t, t.ndim());
      from[d] = t.ndim() - 1;
    }
    order[d] = from[d];
  }
  return ops::permute(t, order);
}

// Multiplies a and b and sums over `summed`, kept as size 1.
Tensor contract(const Tensor& a, const Tensor& b, const Dims& summed) {
  if (summed.empty()) return ops::mul(a, b);
  // Dimensions of both, of a only, of b only; size 1 counts as absent.
  Dims both, only_a, only_b;
  for (int64_t d = 0; d < a.ndim(); ++d) {
    if (std::find(summed.begin(), summed.end(), d) != summed.end()) continue;
    const bool in_a = a.size(d) != 1, in_b = b.size(d) != 1;
    (in_a && in_b ? both : in_a ? only_a : only_b).push_back(d);
  }
  const auto joined = [](std::initializer_list<const Dims*> parts) {
    Dims out;
    for (const Dims* part : parts)
      for (int64_t d : *part) out.push_back(d);
    return out;
  };
  const auto product = [](const Tensor& t, const Dims& dims) {
    return numel_of(sizes_at(t, dims));
  };
  const int64_t batch = product(a, both), rows = product(a, only_a), inner = product(a, summed),
                columns = product(b, only_b);
  const Tensor left = ops::reshape(ops::permute(a, joined({&both, &only_a, &summed, &only_b})),
                                   {batch, rows, inner});
  const Tensor right = ops::reshape(ops::permute(b, joined({&both, &summed, &only_b, &only_a})),
                                    {batch, inner, columns});
  const Dims order = joined({&both, &only_a, &summed, &only_b});
  Dims sizes, back(order.size());
  for (int64_t d : both) sizes.push_back(a.size(d));
  for (int64_t d : only_a) sizes.push_back(a.size(d));
  for (size_t i = 0; i < summed.size(); ++i) sizes.push_back(1);
  for (int64_t d : only_b) sizes.push_back(b.size(d));
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return ops::permute(ops::view(ops::bmm(left, right), sizes), back);
}

}  // namespace

Tensor einsum(KeySet, const std::string& text, const std::vector<Tensor>& tensors,
              const std::optional<Dims>& path) {
  check(!tensors.empty(), "einsum(): must provide at least one operand");
  const Equation equation = parse_equation(text, tensors.size());
  const Space space = make_space(equation, ellipsis_rank(equation, tensors));
  const auto rank = static_cast<size_t>(space.rank);
  std::vector<Tensor> left;
  Dims sizes(rank, 1), users(rank, 0);  // users: operands where its size is not 1
  for (size_t i = 0; i < tensors.size(); ++i) {
    left.push_back(placed(tensors[i], equation.inputs[i], space, i));
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = left[i].sizes()[d];
      if (size == 1) continue;
      check(sizes[d] == 1 || sizes[d] == size,
            "einsum(): operands do not broadcast with remapped shapes "
            "[original->remapped]: dimension ",
            d, " has sizes ", sizes[d], " and ", size, " in '", text, "'");
      sizes[d] = size;
      ++users[d];
    }
  }
  check(!path || path->size() == 2 * (tensors.size() - 1),
        "einsum(): expected contraction path given in path parameter to have size ",
        2 * (tensors.size() - 1), " but got ", path ? path->size() : 0);
  for (size_t step = 0; left.size() > 1; ++step) {
    int64_t i = 0, j = 1;
    if (path) {
      i = std::min((*path)[2 * step], (*path)[2 * step + 1]);
      j = std::max((*path)[2 * step], (*path)[2 * step + 1]);
      check(i != j && i >= 0 && j < static_cast<int64_t>(left.size()),
            "einsum(): invalid contraction path, got (", i, ", ", j, ") for ", left.size(),
            " operands");
    }
    Tensor a = left[static_cast<size_t>(i)], b = left[static_cast<size_t>(j)];
    left.erase(left.begin() + j);
    left.erase(left.begin() + i);
    Dims summed, alone_a, alone_b;
    for (size_t d = static_cast<size_t>(space.output_rank); d < rank; ++d) {
      const bool in_a = a.sizes()[d] != 1, in_b = b.sizes()[d] != 1;
      const auto dim = static_cast<int64_t>(d);
      if (in_a && in_b) {
        if (--users[d] == 1) {
          summed.push_back(dim);
          users[d] = 0;
        }
      } else if (users[d] == 1 && (in_a || in_b)) {
        (in_a ? alone_a : alone_b).push_back(dim);
        users[d] = 0;
      }
    }
    Tensor product = contract(sum_over(a, alone_a, true), sum_over(b, alone_b, true), summed);
    if (path)
      left.push_back(std::move(product));
    else
      left.insert(left.begin(), std::move(product));
  }
  const Tensor& result = left.front();
  if (space.rank == space.output_rank) return result;
  if (tensors.size() > 1)  // all summed dimensions now have size 1
    return ops::reshape(result,
                        IntSpan(result.sizes().data(), static_cast<size_t>(space.output_rank)));
  Dims tail;
  for (int64_t d = space.output_rank; d < space.rank; ++d) tail.push_back(d);
  return sum_over(result, tail, false);
}

}  // namespace uh::kernels
