// One axis of a convolution: which inputs each output reads, and their positions in the buffer.
//
// A forward convolution has one list of taps for all outputs; a transposed one has a list for each
// residue of the output index modulo the stride.
// Invariant: output q * step + residue reads element q + index of a tap's phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace uh {

// Returns a / b rounded up, for b > 0.
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
inline int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// One input that an output reads along one axis: the kernel element and the position in the buffer.
struct ConvTap {
  int64_t element, phase, index;
};

// One axis. Element j of phase p in the buffer is input j * split + p - low.
struct ConvAxis {
  int64_t in, out, kernel, stride, dilation, padding;
  int64_t split = 1, low = 0;
  std::vector<int64_t> phases;             // phases that have taps
  std::vector<int64_t> residues;           // of the outputs that have taps
  std::vector<std::vector<ConvTap>> taps;  // one list per residue
  int64_t reach = 0;                       // the largest index of a tap

  int64_t extent(size_t residue, int64_t step) const {
    return residues[residue] < out ? ceil_div(out - residues[residue], step) : 0;
  }

  void connect_forward() {
    split = stride;
    low = padding;
    residues = {0};
    taps.resize(1);
    for (int64_t t = 0; t < kernel; ++t)
      taps[0].push_back({t, phase_slot(t * dilation % stride), t * dilation / stride});
    finish();
  }

  // Connects output o to input i by kernel element t where o = i * stride - padding + t * dilation.
  void connect_transposed() {
    phases = {0};
    for (int64_t t = 0; t < kernel; ++t) {
      const int64_t residue = floor_mod(t * dilation - padding, stride);
      const auto it = std::find(residues.begin(), residues.end(), residue);
      const auto at = static_cast<size_t>(it - residues.begin());
      if (it == residues.end()) {
        residues.push_back(residue);
        taps.emplace_back();
      }
      taps[at].push_back({t, 0, (residue + padding - t * dilation) / stride});
    }
    int64_t min_value = INT64_MAX;
    for (const auto& list : taps)
      for (const ConvTap& tap : list) min_value = std::min(min_value, tap.index);
    for (auto& list : taps)
      for (ConvTap& tap : list) tap.index -= min_value;
    low = -min_value;
    finish();
  }

 private:
  int64_t phase_slot(int64_t phase) {
    const auto slot = std::find(phases.begin(), phases.end(), phase) - phases.begin();
    if (slot == static_cast<int64_t>(phases.size())) phases.push_back(phase);
    return slot;
  }
  void finish() {
    for (const auto& list : taps)
      for (const ConvTap& tap : list) reach = std::max(reach, tap.index);
  }
};

}  // namespace uh
