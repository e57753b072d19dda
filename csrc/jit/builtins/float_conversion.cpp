#include "jit/builtins/float_conversion.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "jit/builtins/utf8.h"

namespace uh::jit {
namespace {

std::string written(double value, std::chars_format format_type, int precision) {
  // At most 309 digits before the point; a sign, the point, an exponent.
  std::string text(static_cast<size_t>(precision) + 330, '\0');
  text.resize(static_cast<size_t>(
      std::to_chars(text.data(), text.data() + text.size(), value, format_type, precision).ptr -
      text.data()));
  return text;
}

int exponent_of(const std::string& scientific) {
  const size_t at = scientific.find('e') + 1;
  int exponent = 0;
  const char* from = scientific.data() + at + (scientific[at] == '+');
  std::from_chars(from, scientific.data() + scientific.size(), exponent);
  return exponent;
}

// %#g: all requested digits, with trailing zeros.
std::string general_with_zeros(double value, int precision) {
  const int digits = std::max(precision, 1);
  const std::string scientific = written(value, std::chars_format::scientific, digits - 1);
  const int exponent = exponent_of(scientific);
  if (exponent < -4 || exponent >= digits) return scientific;
  return written(value, std::chars_format::fixed, digits - 1 - exponent);
}

// True if a number out of double's range is too large rather than too small, by the position of its
// first nonzero digit.
bool is_huge(std::string_view digits) {
  const size_t e = std::min(digits.find_first_of("eE"), digits.size());
  int64_t exponent = 0;
  if (e < digits.size()) {
    const bool negative = digits[e + 1] == '-';
    const char* from = digits.data() + e + 1 + (digits[e + 1] == '+');
    const auto read = std::from_chars(from, digits.data() + digits.size(), exponent);
    constexpr int64_t kMaxExponent = std::numeric_limits<int64_t>::max() / 2;
    if (read.ec == std::errc::result_out_of_range)
      exponent = negative ? -kMaxExponent : kMaxExponent;
  }
  const std::string_view mantissa = digits.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  return static_cast<int64_t>(point) - static_cast<int64_t>(first) + exponent > 0;
}

}  // namespace

std::string decimal(double value, char type, int precision, bool point) {
  const bool capital = characters::is_upper(type);
  const char format_type = characters::lower(type);
  std::string text;
  if (format_type == 'g') {
    text = point ? general_with_zeros(value, precision)
                 : written(value, std::chars_format::general, precision);
  } else {
    const auto format =
        format_type == 'e' ? std::chars_format::scientific : std::chars_format::fixed;
    text = written(value, format, precision);
  }
  if (point && text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), 1, '.');
  if (capital) std::transform(text.begin(), text.end(), text.begin(), characters::upper);
  return text;
}

double rounded_double(std::string_view digits) {
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc::result_out_of_range) return value;
  const bool negative = !digits.empty() && digits[0] == '-';
  const bool huge = is_huge(digits.substr(negative));
  const double size = huge ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -size : size;
}

}  // namespace uh::jit
