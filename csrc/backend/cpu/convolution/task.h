// A task of a convolution: its part of the input, its tiles, its memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/cpu/allocator.h"
#include "backend/cpu/conv_loops.h"
#include "backend/cpu/convolution/convolve.h"
#include "memory/allocator.h"
#include "ops/convolution/axis.h"

namespace uh {

// The outputs of one residue along each axis: they have the same taps, and so the same weights.
struct ConvPart {
  Spatial first, extent;
  std::array<const std::vector<ConvTap>*, kConvDims> taps;
  int64_t count = 0;  // taps over all input channels
  DataPtr weights;    // for each group and block of rows: [tap][row]
};

struct ConvBlock {  // output channels of a tile
  int64_t channel, rows;
  int kind;
};

// The buffer of a task: [channel][phase z, y, x][image][z][y][x], followed by zeros.
template <class T>
struct ConvBuffer {
  const T* data = nullptr;
  DataPtr owned;
  Spatial size;   // of one phase of one image
  Spatial start;  // the first output (divided by the step) along each axis
  int64_t image = 0, images = 1;
  int64_t plane = 0;     // elements between phases, or between channels if there is one phase
  int64_t readable = 0;  // elements from `data`
};

// Iterates over the pixels of a part in a task, tile by tile.
template <class T>
struct ConvWalk {
  const Spatial& extent;
  const ConvBuffer<T>& buffer;
  int64_t n = 0, z = 0, y = 0, x = 0;

  bool done() const { return n == buffer.images; }
  int64_t position() const {
    return ((n * buffer.size[0] + z) * buffer.size[1] + y) * buffer.size[2] + x;
  }
  void advance(int64_t pixels) {
    x += pixels;
    if (x < extent[2]) return;
    x = 0;
    if (++y < extent[1]) return;
    y = 0;
    if (++z < extent[0]) return;
    z = 0;
    ++n;
  }
};

// A tile of a task, and the positions of its pixels.
struct ConvTile {
  size_t first_run, runs;
  int64_t position, width;
  int kind;
  bool gathers;  // its taps are first copied to be contiguous
};

// The tiles into which a part of a task is cut. They are the same for all groups and images of
// equal buffers, of which depthwise convolutions have hundreds: a thread cuts again only if `shape`
// is another.
struct ConvCut {
  struct Shape {
    Spatial extent, size, start;
    int64_t images, plane, readable;
    bool operator==(const Shape&) const = default;
  };
  Shape shape{};
  std::vector<int64_t> offsets;  // of the taps in the buffer
  std::vector<ConvRun> runs;
  std::vector<ConvTile> tiles;
};

// Memory that the tiles of a thread's tasks share.
template <class T>
struct ConvScratch {
  // For tiles of `width` pixels, and panels of up to `panel_rows` taps.
  ConvScratch(size_t parts, int64_t width, int64_t panel_rows) : cuts(parts) {
    tile.resize(static_cast<size_t>(8 * width));
    rows.resize(static_cast<size_t>(panel_rows));
  }
  T* panel(int64_t width) { return grown(panel_, static_cast<int64_t>(rows.size()) * width); }
  T* sums(int64_t n) { return grown(sums_, n); }

  std::vector<T> tile;
  std::vector<ConvCut> cuts;  // of each part
  std::vector<int64_t> rows;  // of the taps in the panel
  int64_t row_width = 0;

 private:
  struct ScratchBuffer {
    DataPtr data;
    int64_t n = 0;
  };
  static T* grown(ScratchBuffer& scratch, int64_t n) {
    if (scratch.n < n) {
      scratch.data = default_allocator().allocate(static_cast<size_t>(n) * sizeof(T));
      scratch.n = n;
    }
    return static_cast<T*>(scratch.data.get());
  }
  ScratchBuffer panel_, sums_;
};

}  // namespace uh
