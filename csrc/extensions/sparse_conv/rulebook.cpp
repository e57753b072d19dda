#include "rulebook.h"

#include <underhood/underhood_parallel.hpp>

#include <algorithm>

#include "geometry.h"
#include "site_table.h"

namespace sparse_conv {
namespace {

using uh::Tensor;

struct Pairs {
  std::vector<int64_t> in_rows, out_rows;
};

// The sites as arrays: sample, and one coordinate per dimension.
struct Sites {
  int64_t count;
  std::array<std::vector<int64_t>, kMaxDims + 1> columns;

  int64_t sample(int64_t row) const { return columns[0][static_cast<size_t>(row)]; }
  int64_t at(int64_t row, size_t dim) const { return columns[dim + 1][static_cast<size_t>(row)]; }
};

Sites read_sites(const Tensor& indices, const Geometry& g) {
  const int64_t width = static_cast<int64_t>(g.dims) + 1;
  if (indices.dim() != 2 || indices.size(1) != width)
    reject("indices must have the shape (sites, " + std::to_string(width) +
           "): a sample and a coordinate per dimension; got " + text_of(indices.sizes()));
  const bool narrow = indices.dtype() == uh::kInt;
  if (!narrow && indices.dtype() != uh::kLong)
    throw uh::Error(UH_ERROR_TYPE, "sparse_conv: indices must be int32 or int64");
  const Tensor rows = narrow ? indices.to(uh::kLong) : indices.contiguous();
  Sites sites{rows.size(0), {}};
  if (sites.count > INT32_MAX) reject("more than 2^31 - 1 sites");
  for (int64_t c = 0; c < width; ++c)
    sites.columns[static_cast<size_t>(c)].resize(static_cast<size_t>(sites.count));
  const int64_t* values = rows.data_ptr<int64_t>();
  for (int64_t row = 0; row < sites.count; ++row) {
    for (int64_t c = 0; c < width; ++c) {
      const int64_t value = values[row * width + c];
      const int64_t limit = c ? g.in_sizes[static_cast<size_t>(c) - 1] : g.batch_size;
      if (value < 0 || value >= limit)
        throw uh::Error(UH_ERROR_INDEX,
                        "sparse_conv: indices[" + std::to_string(row) + ", " + std::to_string(c) +
                            "] is " + std::to_string(value) + ", outside of " +
                            (c ? "dimension " + std::to_string(c - 1) + " of spatial_shape"
                               : std::string("batch_size")) +
                            " (" + std::to_string(limit) + ")");
      sites.columns[static_cast<size_t>(c)][static_cast<size_t>(row)] = value;
    }
  }
  return sites;
}

std::vector<int64_t> cells_of(const Sites& sites, const Geometry& g) {
  std::vector<int64_t> cells(static_cast<size_t>(sites.count));
  for (int64_t row = 0; row < sites.count; ++row) {
    Coordinates at{};
    for (size_t d = 0; d < g.dims; ++d) at[d] = sites.at(row, d);
    cells[static_cast<size_t>(row)] = g.cell(sites.sample(row), at, g.in_sizes);
  }
  return cells;
}

void insert_sites(SiteTable& table, const std::vector<int64_t>& cells, const Sites& sites,
                  const Geometry& g) {
  for (int64_t row = 0; row < sites.count; ++row) {
    const int64_t first = table.insert(cells[static_cast<size_t>(row)], static_cast<int32_t>(row));
    if (first == row) continue;
    std::vector<int64_t> site{sites.sample(row)};
    for (size_t d = 0; d < g.dims; ++d) site.push_back(sites.at(row, d));
    reject("indices[" + std::to_string(first) + "] and indices[" + std::to_string(row) +
           "] are the same site, " + text_of(site));
  }
}

TableKind kind_of(const std::string& table, int64_t cells, int64_t sites, int64_t lookups) {
  if (table == "grid") return TableKind::kGrid;
  if (table == "hash") return TableKind::kHash;
  if (table != "auto") reject("table must be auto, grid or hash, got '" + table + "'");
  return SiteTable::choose(cells, sites, lookups);
}

void reject_duplicates(const Sites& sites, const Geometry& g, const std::string& table_name) {
  const int64_t space = g.cells(g.in_sizes);
  SiteTable table(kind_of(table_name, space, sites.count, 0), space, sites.count);
  insert_sites(table, cells_of(sites, g), sites, g);
}

// Looks up the neighbours of each site. Offset k of a site yields the same pair as the opposite
// offset of its neighbour, so only half of the offsets are looked up.
std::vector<Pairs> submanifold_pairs(const Sites& sites, const Geometry& g,
                                     const std::string& table_name) {
  const int64_t volume = g.kernel_volume(), centre = volume / 2;
  const std::vector<int64_t> cells = cells_of(sites, g);
  const int64_t space = g.cells(g.in_sizes);
  SiteTable table(kind_of(table_name, space, sites.count, sites.count * centre), space,
                  sites.count);
  insert_sites(table, cells, sites, g);
  std::vector<Pairs> pairs(static_cast<size_t>(volume));
  uh::parallel_for(0, centre + 1, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t k = lo; k < hi; ++k) {
      Coordinates shift{};
      const Coordinates offset = g.offset(k);
      int64_t distance = 0;
      for (size_t d = 0; d < g.dims; ++d) {
        shift[d] = offset[d] * g.dilation[d] - g.padding[d];
        distance = distance * g.in_sizes[d] + shift[d];
      }
      Pairs& own = pairs[static_cast<size_t>(k)];
      for (int64_t row = 0; row < sites.count; ++row) {
        bool inside = true;
        for (size_t d = 0; d < g.dims; ++d) {
          const int64_t at = sites.at(row, d) + shift[d];
          inside &= at >= 0 && at < g.in_sizes[d];
        }
        if (!inside) continue;
        const int32_t neighbour = table.find(cells[static_cast<size_t>(row)] + distance);
        if (neighbour == SiteTable::kNone) continue;
        own.in_rows.push_back(neighbour);
        own.out_rows.push_back(row);
      }
    }
  });
  for (int64_t k = centre + 1; k < volume; ++k) {
    const Pairs& opposite = pairs[static_cast<size_t>(volume - 1 - k)];
    pairs[static_cast<size_t>(k)] = {opposite.out_rows, opposite.in_rows};
  }
  return pairs;
}

// Returns the pairs of a regular convolution; out_rows first hold output cells, later rows. Fills
// out_cells with the cells that some input reaches, in order.
std::vector<Pairs> regular_pairs(const Sites& sites, const Geometry& g,
                                 const std::string& table_name, std::vector<int64_t>& out_cells) {
  reject_duplicates(sites, g, table_name);
  const int64_t volume = g.kernel_volume();
  std::vector<Pairs> pairs(static_cast<size_t>(volume));
  uh::parallel_for(0, volume, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t k = lo; k < hi; ++k) {
      const Coordinates offset = g.offset(k);
      Pairs& own = pairs[static_cast<size_t>(k)];
      for (int64_t row = 0; row < sites.count; ++row) {
        Coordinates out{};
        bool reached = true;
        for (size_t d = 0; d < g.dims; ++d) {
          const int64_t at = sites.at(row, d) + g.padding[d] - offset[d] * g.dilation[d];
          out[d] = at / g.stride[d];
          reached &= at >= 0 && out[d] < g.out_sizes[d] && out[d] * g.stride[d] == at;
        }
        if (!reached) continue;
        own.in_rows.push_back(row);
        own.out_rows.push_back(g.cell(sites.sample(row), out, g.out_sizes));
      }
    }
  });
  int64_t count = 0;
  for (const Pairs& own : pairs) count += static_cast<int64_t>(own.in_rows.size());
  const int64_t space = g.cells(g.out_sizes);
  SiteTable table(kind_of(table_name, space, 0, 2 * count), space, std::min(count, space));
  for (const Pairs& own : pairs)
    for (const int64_t cell : own.out_rows) {
      const auto next = static_cast<int32_t>(out_cells.size());
      if (table.insert(cell, next) == next) out_cells.push_back(cell);
    }
  std::sort(out_cells.begin(), out_cells.end());
  for (size_t row = 0; row < out_cells.size(); ++row)
    table.renumber(out_cells[row], static_cast<int32_t>(row));
  uh::parallel_for(0, volume, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t k = lo; k < hi; ++k)
      for (int64_t& row : pairs[static_cast<size_t>(k)].out_rows) row = table.find(row);
  });
  return pairs;
}

// Returns the rows of indices for cells of the output.
Tensor indices_of(const std::vector<int64_t>& cells, const Geometry& g) {
  const int64_t width = static_cast<int64_t>(g.dims) + 1;
  const Tensor result = uh::empty({static_cast<int64_t>(cells.size()), width}, uh::kLong);
  int64_t* values = result.data_ptr<int64_t>();
  for (size_t row = 0; row < cells.size(); ++row) {
    int64_t cell = cells[row];
    for (size_t d = g.dims; d-- > 0; cell /= g.out_sizes[d])
      values[row * static_cast<size_t>(width) + d + 1] = cell % g.out_sizes[d];
    values[row * static_cast<size_t>(width)] = cell;
  }
  return result;
}

Tensor joined(const std::vector<Pairs>& pairs, std::vector<int64_t> Pairs::*rows) {
  int64_t count = 0;
  for (const Pairs& own : pairs) count += static_cast<int64_t>((own.*rows).size());
  const Tensor result = uh::empty({count}, uh::kLong);
  int64_t* to = result.data_ptr<int64_t>();
  for (const Pairs& own : pairs) to = std::copy((own.*rows).begin(), (own.*rows).end(), to);
  return result;
}

}  // namespace

void check_sites(const Tensor& indices, int64_t batch_size,
                 const std::vector<int64_t>& spatial_shape) {
  const std::vector<int64_t> ones(spatial_shape.size(), 1), zeros(spatial_shape.size(), 0);
  const Geometry g(batch_size, spatial_shape, ones, ones, zeros, ones, true);
  reject_duplicates(read_sites(indices, g), g, "auto");
}

std::tuple<Tensor, Tensor, Tensor, Tensor> build_rulebook(
    const Tensor& indices, int64_t batch_size, const std::vector<int64_t>& spatial_shape,
    const std::vector<int64_t>& kernel_size, const std::vector<int64_t>& stride,
    const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation, bool submanifold,
    const std::string& table) {
  const Geometry g(batch_size, spatial_shape, kernel_size, stride, padding, dilation, submanifold);
  const Sites sites = read_sites(indices, g);
  std::vector<int64_t> out_cells;
  const std::vector<Pairs> pairs =
      submanifold ? submanifold_pairs(sites, g, table) : regular_pairs(sites, g, table, out_cells);
  std::vector<int64_t> starts{0};
  for (const Pairs& own : pairs)
    starts.push_back(starts.back() + static_cast<int64_t>(own.in_rows.size()));
  Tensor out_indices = submanifold ? indices.clone() : indices_of(out_cells, g);
  if (!submanifold && indices.dtype() == uh::kInt) out_indices = out_indices.to(uh::kInt);
  return {out_indices, joined(pairs, &Pairs::in_rows), joined(pairs, &Pairs::out_rows),
          Tensor::of(starts, {static_cast<int64_t>(starts.size())})};
}

RulebookView::RulebookView(const Tensor& in_rows, const Tensor& out_rows, const Tensor& starts) {
  const auto check_rows = [](const char* name, const Tensor& rows) {
    if (rows.dtype() != uh::kLong)
      throw uh::Error(UH_ERROR_TYPE, std::string("sparse_conv: ") + name + " must be int64");
    if (rows.dim() != 1)
      reject(std::string(name) + " must have one dimension, got the shape " +
             text_of(rows.sizes()));
  };
  check_rows("in_rows", in_rows);
  check_rows("out_rows", out_rows);
  check_rows("starts", starts);
  in_rows_ = in_rows.contiguous();
  out_rows_ = out_rows.contiguous();
  starts_ = starts.ints();
  if (in_rows.numel() != out_rows.numel())
    reject("in_rows and out_rows must have equal lengths, got " + std::to_string(in_rows.numel()) +
           " and " + std::to_string(out_rows.numel()));
  if (starts_.empty() || starts_.front() != 0 || starts_.back() != in_rows.numel() ||
      !std::is_sorted(starts_.begin(), starts_.end()))
    reject("starts must ascend from 0 to the number of pairs, " + std::to_string(in_rows.numel()) +
           ", got " + text_of(starts_));
}

void check_row(const char* name, int64_t row, int64_t n) {
  if (row < 0 || row >= n)
    throw uh::Error(UH_ERROR_INDEX, std::string("sparse_conv: ") + name + " has the row " +
                                        std::to_string(row) + " of " + std::to_string(n) + " rows");
}

}  // namespace sparse_conv
