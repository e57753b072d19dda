// SiteTable: maps a cell (batch and coordinates as one integer) to a row of features.
//
// Either a grid with an entry per cell or a hash table with an entry per site; choose() returns the
// cheaper one. Invariant: a cell has one row; lookups may run in parallel once all insertions have
// finished.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace sparse_conv {

enum class TableKind { kGrid, kHash };

class SiteTable {
 public:
  static constexpr int32_t kNone = -1;

  // Measured by benchmarks/sparse_conv.py --tables: up to about 2 cells per lookup the grid is
  // faster; above, clearing it costs more than the hash table's slower lookups.
  static TableKind choose(int64_t cells, int64_t sites, int64_t lookups) {
    constexpr int64_t kCellsPerLookup = 2;
    constexpr int64_t kMaxCells = int64_t{1} << 31;  // 8 GiB
    return cells <= kMaxCells && cells / kCellsPerLookup <= sites + lookups ? TableKind::kGrid
                                                                            : TableKind::kHash;
  }

  SiteTable(TableKind kind, int64_t cells, int64_t capacity) : is_grid_(kind == TableKind::kGrid) {
    if (is_grid_) {
      rows_.assign(static_cast<size_t>(cells), kNone);
      return;
    }
    const auto slots = std::bit_ceil(static_cast<uint64_t>(2 * capacity + 2));
    shift_ = 64 - std::countr_zero(slots);
    mask_ = slots - 1;
    slots_.resize(slots);
  }

  // Returns the row of a cell; inserts `row` if it has none.
  int32_t insert(int64_t cell, int32_t row) {
    if (is_grid_) {
      int32_t& entry = rows_[static_cast<size_t>(cell)];
      if (entry == kNone) entry = row;
      return entry;
    }
    Slot& slot = slots_[position(cell)];
    if (slot.cell != cell) slot = {cell, row};
    return slot.row;
  }
  // Returns the row of a cell, or kNone.
  int32_t find(int64_t cell) const {
    if (is_grid_) return rows_[static_cast<size_t>(cell)];
    const Slot& slot = slots_[position(cell)];
    return slot.cell == cell ? slot.row : kNone;
  }
  // Replaces the row of a cell that is present.
  void renumber(int64_t cell, int32_t row) {
    (is_grid_ ? rows_[static_cast<size_t>(cell)] : slots_[position(cell)].row) = row;
  }

 private:
  struct Slot {
    int64_t cell = -1;
    int32_t row = kNone;
  };
  // Returns the slot of the cell, or the free slot for it.
  size_t position(int64_t cell) const {
    auto slot = (static_cast<uint64_t>(cell) * 0x9E3779B97F4A7C15u) >> shift_;
    while (slots_[slot].cell != cell && slots_[slot].cell >= 0) slot = (slot + 1) & mask_;
    return slot;
  }

  bool is_grid_;
  std::vector<int32_t> rows_;
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace sparse_conv
