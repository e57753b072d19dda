#include "backend/cpu/index/mask.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy_loops.h"
#include "base/parallel.h"

namespace uh {
namespace {

constexpr int64_t kBlock = 1 << 16;  // elements per task

// Counts the set bytes of each block and returns the prefix sums: where each block's results start.
// The last entry is the total.
std::vector<int64_t> starts(const uint8_t* mask, int64_t n) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<int64_t> start(static_cast<size_t>(blocks) + 1, 0);
  parallel_for(0, blocks, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t b = lo; b < hi; ++b) {
      start[static_cast<size_t>(b) + 1] =
          copy_loops().count(mask + b * kBlock, std::min(kBlock, n - b * kBlock));
    }
  });
  for (size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
  return start;
}

// Returns a 1-d tensor with one element per set byte; part(out, first, n) writes those of one
// block.
template <class Part>
Tensor select(const Tensor& mask, DType dtype, const Part& part) {
  const auto* bytes = mask.data_as<uint8_t>();
  const int64_t n = mask.numel(), item = itemsize(dtype);
  const std::vector<int64_t> start = starts(bytes, n);
  Tensor out = empty(Dims{start.back()}, dtype);
  parallel_for(0, static_cast<int64_t>(start.size()) - 1, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t b = lo; b < hi; ++b) {
      part(out.data() + start[static_cast<size_t>(b)] * item, b * kBlock,
           std::min(kBlock, n - b * kBlock));
    }
  });
  return out;
}

}  // namespace

Tensor truth_bytes(const Tensor& self) { return as_contiguous(self, DType::kBool); }

Tensor set_places(const Tensor& mask) {
  const auto* bytes = mask.data_as<uint8_t>();
  return select(mask, DType::kInt64, [&](std::byte* out, int64_t first, int64_t n) {
    copy_loops().positions(reinterpret_cast<int64_t*>(out), bytes + first, first, n);
  });
}

Tensor compressed(const Tensor& self, const Tensor& mask) {
  const auto* bytes = mask.data_as<uint8_t>();
  const int64_t item = itemsize(self.dtype());
  const auto compress = copy_loops().compress[size_class(item)];
  return select(mask, self.dtype(), [&](std::byte* out, int64_t first, int64_t n) {
    compress(out, self.data() + first * item, bytes + first, n);
  });
}

// Divides by the last size only at the end of a row.
void split_places(const Tensor& positions, IntSpan sizes, int64_t* columns) {
  const int64_t n = positions.numel(), last = sizes.back();
  const size_t rank = sizes.size();
  const auto* position = positions.data_as<int64_t>();
  parallel_for(0, n, kBlock / 8, [&](int64_t lo, int64_t hi) {
    Dims outer(rank);
    int64_t begin = -last - 1;
    for (int64_t i = lo; i < hi; ++i) {
      if (position[i] - begin >= last) {
        int64_t remainder = position[i] / last;
        begin = remainder * last;
        for (size_t d = rank - 1; d-- > 0; remainder /= sizes[d]) outer[d] = remainder % sizes[d];
      }
      for (size_t d = 0; d + 1 < rank; ++d) columns[static_cast<int64_t>(d) * n + i] = outer[d];
      columns[static_cast<int64_t>(rank - 1) * n + i] = position[i] - begin;
    }
  });
}

std::vector<Tensor> places_to_indices(const Tensor& positions, IntSpan sizes) {
  const int64_t n = positions.numel(), rank = static_cast<int64_t>(sizes.size());
  if (rank == 0) return {};
  if (rank == 1) return {positions};
  const Tensor all = empty(Dims{rank, n}, DType::kInt64);
  split_places(positions, sizes, all.data_as<int64_t>());
  std::vector<Tensor> indices;
  for (int64_t d = 0; d < rank; ++d) indices.push_back(alias(all, Layout{Dims{n}, Dims{1}, d * n}));
  return indices;
}

}  // namespace uh
