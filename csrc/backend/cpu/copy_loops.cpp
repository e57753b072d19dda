#include "backend/cpu/copy_loops.h"

#include <bit>
#include <cstring>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "backend/cpu/transpose_tile.h"

// Everything here has internal linkage or is in UH_ISA: the linker could otherwise choose the
// AVX-512 version of a shared inline function and crash an older CPU.
namespace uh::UH_ISA {
namespace {

// bool is read as "any bit set": foreign memory may hold bytes other than 0 and 1.
struct BoolByte {
  uint8_t byte;
};

struct Bytes16 {
  uint64_t low, high;
};

#if defined(__AVX512DQ__)
inline double double_from(int64_t x) { return static_cast<double>(x); }
inline float float_from(int64_t x) { return static_cast<float>(x); }
#else
// As static_cast, which has a vector instruction in AVX-512 only. The halves of x are written into
// the fractions of 2^84 and 2^52; their sum without these two, and without the 2^63 that makes the
// upper half unsigned, rounds once.
inline double double_from(int64_t x) {
  const auto bits = static_cast<uint64_t>(x);
  const auto high = std::bit_cast<double>((bits >> 32) ^ 0x4530000080000000u);
  const auto low = std::bit_cast<double>((bits & 0xffffffffu) | 0x4330000000000000u);
  return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
}
// The double must be exact, or the float would be rounded twice: of a large number, one bit stands
// for those far below the last place of its float.
inline float float_from(int64_t x) {
  const int64_t low = x & 0xffff;
  const int64_t short_x = (x - low) | (low != 0 ? 0x8000 : 0);
  const bool exact = (x <= (int64_t{1} << 53)) & (x >= -(int64_t{1} << 53));
  return static_cast<float>(double_from(exact ? x : short_x));
}
#endif

// Complex to real takes the real part; complex to bool tests both parts.
template <class To, class From>
inline To convert(From from) {
  if constexpr (is_complex_v<From> && std::is_same_v<To, BoolByte>) {
    return BoolByte{static_cast<uint8_t>((from.re != 0) | (from.im != 0))};
  } else if constexpr (is_complex_v<From> && !is_complex_v<To>) {
    return convert<To>(from.re);
  } else if constexpr (std::is_same_v<From, BoolByte>) {
    return from.byte != 0 ? To(1) : To(0);  // GCC vectorises a selection, not a cast of `!=`
  } else if constexpr (std::is_same_v<To, BoolByte>) {
    return BoolByte{static_cast<uint8_t>(from != 0)};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int32_t>(from));  // wraps, as PyTorch and NumPy do
  } else if constexpr (std::is_same_v<From, int64_t> && std::is_same_v<To, double>) {
    return double_from(from);
  } else if constexpr (std::is_same_v<From, int64_t> && std::is_same_v<To, float>) {
    return float_from(from);
  } else {
    return static_cast<To>(from);
  }
}

template <class To, class From>
void cast(void* dst_, const void* src_, int64_t n) {
  if constexpr (std::is_same_v<To, From>) {
    std::memcpy(dst_, src_, static_cast<size_t>(n) * sizeof(To));
  } else {
    auto* __restrict dst = static_cast<To*>(dst_);
    const auto* __restrict src = static_cast<const From*>(src_);
    for (int64_t i = 0; i < n; ++i) dst[i] = convert<To>(src[i]);
  }
}

#if defined(__AVX512F__)
constexpr __mmask16 kAll = 0xffff;  // g++ 12 warns of an undefined register in unmasked conversions
#endif

void float_from_half(void* dst_, const void* src_, int64_t n) {
  auto* __restrict dst = static_cast<float*>(dst_);
  const auto* __restrict src = static_cast<const uint16_t*>(src_);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(
        dst + i,
        _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i))));
  }
  const auto mask = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm512_mask_storeu_ps(dst + i, mask,
                        _mm512_maskz_cvtph_ps(mask, _mm256_maskz_loadu_epi16(mask, src + i)));
#elif defined(__F16C__)
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(dst + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i))));
  }
  for (; i < n; ++i) dst[i] = _cvtsh_ss(src[i]);
#else
  for (int64_t i = 0; i < n; ++i) dst[i] = Half::decode(src[i]);
#endif
}

void half_from_float(void* dst_, const void* src_, int64_t n) {
  auto* __restrict dst = static_cast<uint16_t*>(dst_);
  const auto* __restrict src = static_cast<const float*>(src_);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i),
                        _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(src + i), 0));
  }
  const auto mask = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm256_mask_storeu_epi16(dst + i, mask,
                           _mm512_maskz_cvtps_ph(mask, _mm512_maskz_loadu_ps(mask, src + i), 0));
#elif defined(__F16C__)
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
  }
  for (; i < n; ++i) dst[i] = _cvtss_sh(src[i], 0);
#else
  for (int64_t i = 0; i < n; ++i) dst[i] = Half::encode(src[i]);
#endif
}

void float_from_bfloat16(void* dst_, const void* src_, int64_t n) {
  auto* __restrict dst = static_cast<uint32_t*>(dst_);
  const auto* __restrict src = static_cast<const uint16_t*>(src_);
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<uint32_t>(src[i]) << 16;
}

void bfloat16_from_float(void* dst_, const void* src_, int64_t n) {
  auto* __restrict dst = static_cast<uint16_t*>(dst_);
  const auto* __restrict src = static_cast<const uint32_t*>(src_);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t x = src[i];
    const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    dst[i] = static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
}

template <class T>
void move(void* dst_, int64_t dst_stride, const void* src_, int64_t src_stride, int64_t n) {
  auto* dst = static_cast<T*>(dst_);
  const auto* src = static_cast<const T*>(src_);
  if (dst_stride == 1 && src_stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
  } else if (dst_stride == 1 && src_stride == 0) {
    const T value = *src;
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else if (dst_stride == 1 && src_stride == -1) {  // flip
    for (int64_t i = 0; i < n; ++i) dst[i] = src[-i];
  } else if (dst_stride == 1 && src_stride == 2) {  // every second column, or the real parts
    for (int64_t i = 0; i < n; ++i) dst[i] = src[2 * i];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

// Copies a few bytes by two moves that may overlap, of the largest size that fits.
template <size_t kBytes>
inline void copy_ends(std::byte* dst, const std::byte* src, size_t bytes) {
  std::memcpy(dst, src, kBytes);
  std::memcpy(dst + bytes - kBytes, src + bytes - kBytes, kBytes);
}

// A call of memcpy costs more than copying a short row.
inline void copy_short(std::byte* dst, const std::byte* src, size_t bytes) {
  if (bytes > 16) {
    for (size_t i = 0; i + 16 < bytes; i += 16) std::memcpy(dst + i, src + i, 16);
    std::memcpy(dst + bytes - 16, src + bytes - 16, 16);
  } else if (bytes >= 8) {
    copy_ends<8>(dst, src, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(dst, src, bytes);
  } else if (bytes >= 2) {
    copy_ends<2>(dst, src, bytes);
  } else {
    *dst = *src;
  }
}

template <class T>
void move_rows(void* dst_, int64_t dst_row, int64_t dst_stride, const void* src_, int64_t src_row,
               int64_t src_stride, int64_t rows, int64_t n) {
  auto* dst = static_cast<T*>(dst_);
  const auto* src = static_cast<const T*>(src_);
  constexpr int64_t kShort = 128 / static_cast<int64_t>(sizeof(T)), kFew = 8;
  if (dst_stride == 1 && src_stride == 1 && n <= kShort) {
    for (int64_t r = 0; r < rows; ++r, dst += dst_row, src += src_row)
      copy_short(reinterpret_cast<std::byte*>(dst), reinterpret_cast<const std::byte*>(src),
                 static_cast<size_t>(n) * sizeof(T));
  } else if (n < kFew && rows > n) {  // by columns, which are longer
    for (int64_t j = 0; j < n; ++j)
      move<T>(dst + j * dst_stride, dst_row, src + j * src_stride, src_row, rows);
  } else {
    for (int64_t r = 0; r < rows; ++r)
      move<T>(dst + r * dst_row, dst_stride, src + r * src_row, src_stride, n);
  }
}

// dst[c][r] = src[r][c], element by element, where no whole tile fits.
template <class T>
void transpose_rest(T* dst, int64_t dst_stride, const T* src, int64_t src_stride, int64_t rows,
                    int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) dst[c * dst_stride + r] = src[r * src_stride + c];
  }
}

template <class T>
void transpose(void* dst_, int64_t dst_stride, const void* src_, int64_t src_stride, int64_t rows,
               int64_t columns) {
  auto* dst = static_cast<T*>(dst_);
  const auto* src = static_cast<const T*>(src_);
  if constexpr (sizeof(T) <= 8) {
    constexpr int64_t n = kTileSide<T>;
    const int64_t whole_rows = rows - rows % n, whole_columns = columns - columns % n;
    for (int64_t r = 0; r < whole_rows; r += n) {
      for (int64_t c = 0; c < whole_columns; c += n)
        transpose_tile(dst + c * dst_stride + r, dst_stride, src + r * src_stride + c, src_stride);
    }
    transpose_rest(dst + whole_rows, dst_stride, src + whole_rows * src_stride, src_stride,
                   rows - whole_rows, whole_columns);
    transpose_rest(dst + whole_columns * dst_stride, dst_stride, src + whole_columns, src_stride,
                   rows, columns - whole_columns);
  } else {  // a register per element: only the lines of src must stay cached
    constexpr int64_t kBand = 16;
    for (int64_t r = 0; r < rows; r += kBand) {
      transpose_rest(dst + r, dst_stride, src + r * src_stride, src_stride,
                     rows - r < kBand ? rows - r : kBand, columns);
    }
  }
}

template <class T>
void fill(void* dst_, int64_t stride, const void* value_, int64_t n) {
  auto* dst = static_cast<T*>(dst_);
  const T value = *static_cast<const T*>(value_);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * stride] = value;
  }
}

template <class T>
void masked_fill(void* dst_, int64_t stride, const uint8_t* mask, int64_t mask_stride,
                 const void* value_, int64_t n) {
  auto* __restrict dst = static_cast<T*>(dst_);
  const T value = *static_cast<const T*>(value_);
  if (stride == 1 && mask_stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = mask[i] ? value : dst[i];
  } else {
    for (int64_t i = 0; i < n; ++i) {
      if (mask[i * mask_stride]) dst[i * stride] = value;
    }
  }
}

template <class T>
void take(void* dst_, int64_t dst_stride, const void* table_, int64_t table_stride,
          const int64_t* index, int64_t index_stride, int64_t n) {
  auto* __restrict dst = static_cast<T*>(dst_);
  const auto* __restrict table = static_cast<const T*>(table_);
  if (dst_stride == 1 && index_stride == 1 && table_stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = table[index[i]];
  } else {
    for (int64_t i = 0; i < n; ++i)
      dst[i * dst_stride] = table[index[i * index_stride] * table_stride];
  }
}

// Stores every element, but advances only if it is kept: no branch to mispredict. The buffer takes
// the store after the last kept element, which would be outside dst.
template <class T>
int64_t compress(void* dst_, const void* src_, const uint8_t* mask, int64_t n) {
  constexpr int64_t kBlock = 512;
  auto* dst = static_cast<T*>(dst_);
  const auto* src = static_cast<const T*>(src_);
  T compacted[kBlock + 1];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    int64_t k = 0;
    for (int64_t j = 0; j < m; ++j) {
      compacted[k] = src[i + j];
      k += mask[i + j] != 0;
    }
    std::memcpy(dst, compacted, static_cast<size_t>(k) * sizeof(T));
    dst += k;
  }
  return dst - static_cast<T*>(dst_);
}

int64_t positions(int64_t* dst, const uint8_t* mask, int64_t first, int64_t n) {
  constexpr int64_t kBlock = 512;
  int64_t* const begin = dst;
  int64_t compacted[kBlock + 1];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    int64_t k = 0;
    for (int64_t j = 0; j < m; ++j) {
      compacted[k] = first + i + j;
      k += mask[i + j] != 0;
    }
    std::memcpy(dst, compacted, static_cast<size_t>(k) * sizeof(int64_t));
    dst += k;
  }
  return dst - begin;
}

int64_t count(const uint8_t* mask, int64_t n) {
  int64_t total = 0;
  for (int64_t i = 0; i < n; i += 4096) {
    const int64_t end = i + 4096 < n ? i + 4096 : n;
    int32_t some = 0;
    for (int64_t j = i; j < end; ++j) some += mask[j] != 0;
    total += some;
  }
  return total;
}

// Casts between complex dtypes as twice as many real numbers.
template <class To, class From>
void cast_parts(void* dst, const void* src, int64_t n) {
  cast<To, From>(dst, src, 2 * n);
}

// Fills row `to` of the cast table, for every source type with a loop.
template <class To>
void cast_row(CopyLoops& loops, DType to) {
  auto* row = loops.cast[static_cast<int>(to)];
  row[static_cast<int>(DType::kBool)] = cast<To, BoolByte>;
  row[static_cast<int>(DType::kUInt8)] = cast<To, uint8_t>;
  row[static_cast<int>(DType::kInt8)] = cast<To, int8_t>;
  row[static_cast<int>(DType::kInt16)] = cast<To, int16_t>;
  row[static_cast<int>(DType::kInt32)] = cast<To, int32_t>;
  row[static_cast<int>(DType::kInt64)] = cast<To, int64_t>;
  row[static_cast<int>(DType::kFloat32)] = cast<To, float>;
  row[static_cast<int>(DType::kFloat64)] = cast<To, double>;
  row[static_cast<int>(DType::kComplex64)] = cast<To, Complex64>;
  row[static_cast<int>(DType::kComplex128)] = cast<To, Complex128>;
}

CopyLoops make() {
  CopyLoops loops{};
  cast_row<BoolByte>(loops, DType::kBool);
  cast_row<uint8_t>(loops, DType::kUInt8);
  cast_row<int8_t>(loops, DType::kInt8);
  cast_row<int16_t>(loops, DType::kInt16);
  cast_row<int32_t>(loops, DType::kInt32);
  cast_row<int64_t>(loops, DType::kInt64);
  cast_row<float>(loops, DType::kFloat32);
  cast_row<double>(loops, DType::kFloat64);
  cast_row<Complex64>(loops, DType::kComplex64);
  cast_row<Complex128>(loops, DType::kComplex128);
  const auto pair = [&](DType to, DType from, CopyLoops::Cast f) {
    loops.cast[static_cast<int>(to)][static_cast<int>(from)] = f;
  };
  pair(DType::kFloat32, DType::kFloat16, float_from_half);
  pair(DType::kFloat16, DType::kFloat32, half_from_float);
  pair(DType::kFloat32, DType::kBFloat16, float_from_bfloat16);
  pair(DType::kBFloat16, DType::kFloat32, bfloat16_from_float);
  pair(DType::kComplex128, DType::kComplex64, cast_parts<double, float>);
  pair(DType::kComplex64, DType::kComplex128, cast_parts<float, double>);
  const auto by_size = [&]<class T>(int i, T) {
    loops.move[i] = move<T>;
    loops.move_rows[i] = move_rows<T>;
    loops.transpose[i] = transpose<T>;
    loops.fill[i] = fill<T>;
    loops.masked_fill[i] = masked_fill<T>;
    loops.take[i] = take<T>;
    loops.compress[i] = compress<T>;
  };
  by_size(0, uint8_t{});
  by_size(1, uint16_t{});
  by_size(2, uint32_t{});
  by_size(3, uint64_t{});
  by_size(4, Bytes16{});
  loops.positions = positions;
  loops.count = count;
  return loops;
}

}  // namespace

const CopyLoops& copy_loops() {
  static const CopyLoops loops = make();
  return loops;
}

}  // namespace uh::UH_ISA
