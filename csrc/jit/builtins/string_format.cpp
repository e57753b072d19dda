// "{} {:.2f}".format(...), which f-strings are compiled to, and "%d" % ....
#include "jit/builtins/string_format.h"

#include <algorithm>
#include <cmath>

#include "jit/builtins/float_conversion.h"
#include "jit/builtins/register_builtin.h"
#include "jit/builtins/tensors.h"
#include "jit/builtins/utf8.h"

namespace uh::jit {
namespace {

constexpr int64_t kMaxFormatWidth = 1'000'000;
constexpr int64_t kMaxFormatPrecision = 1000;

struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, group = 0;
  bool alternative = false;
  int64_t width = 0, precision = -1;
};

[[noreturn]] void wrong_spec(std::string_view spec) {
  fail(ErrorKind::kValue, "Invalid format specifier '", spec, "'");
}

int64_t digits(std::string_view spec, size_t& at, int64_t limit) {
  int64_t n = 0;
  for (; at < spec.size() && characters::is_digit(spec[at]); ++at) {
    n = n * 10 + (spec[at] - '0');
    if (n > limit) fail(ErrorKind::kValue, "Too many decimal digits in format string");
  }
  return n;
}

Spec parse_spec(std::string_view spec) {
  Spec s;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const auto next = [&] { return at < spec.size() ? spec[at] : '\0'; };
  const size_t fill = characters::byte_of(spec, 1);
  if (fill < spec.size() && is_align(spec[fill])) {
    s.fill = spec.substr(0, fill);
    s.align = spec[fill];
    at = fill + 1;
  } else if (is_align(next())) {
    s.align = spec[at++];
  }
  if (next() == '+' || next() == '-' || next() == ' ') s.sign = spec[at++];
  if (next() == '#') s.alternative = ++at != 0;
  if (next() == '0') {
    ++at;
    if (!s.align) {
      s.align = '=';
      s.fill = "0";
    }
  }
  s.width = digits(spec, at, kMaxFormatWidth);
  if (next() == ',' || next() == '_') s.group = spec[at++];
  if (next() == '.') {
    ++at;
    if (!characters::is_digit(next()))
      fail(ErrorKind::kValue, "Format specifier missing precision");
    s.precision = digits(spec, at, kMaxFormatPrecision);
  }
  if (at < spec.size()) s.type = spec[at++];
  if (at != spec.size()) wrong_spec(spec);
  return s;
}

std::string aligned(const std::string& sign, const std::string& body, const Spec& s,
                    char default_align) {
  const int64_t missing = s.width - characters::count(sign) - characters::count(body);
  if (missing <= 0) return sign + body;
  const auto pad = [&](int64_t n) {
    std::string all;
    for (; n > 0; --n) all += s.fill;
    return all;
  };
  switch (s.align ? s.align : default_align) {
    case '<': return sign + body + pad(missing);
    case '^': return pad(missing / 2) + sign + body + pad(missing - missing / 2);
    case '=': return sign + pad(missing) + body;
    default: return pad(missing) + sign + body;
  }
}

std::string grouped(std::string digits, char comma, size_t every) {
  const size_t end = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  for (size_t at = end; comma && at > every;) digits.insert(at -= every, 1, comma);
  return digits;
}

std::string sign_of(bool negative, const Spec& s) {
  if (negative) return "-";
  return s.sign == '-' ? "" : std::string(1, s.sign);
}

std::string format_int(int64_t value, const Spec& s) {
  uint64_t remainder = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (s.type == 'c') return aligned("", std::string(1, static_cast<char>(value & 0x7f)), s, '<');
  const unsigned base = s.type == 'b' ? 2 : s.type == 'o' ? 8 : (s.type | 32) == 'x' ? 16 : 10;
  const char* alphabet = s.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string body;
  do {
    body.insert(body.begin(), alphabet[remainder % base]);
    remainder /= base;
  } while (remainder);
  body = grouped(std::move(body), s.group, base == 10 ? 3 : 4);
  std::string sign = sign_of(value < 0, s);
  if (s.alternative && base != 10) (sign += '0') += s.type;
  return aligned(sign, body, s, '>');
}

// Python's own format without type and precision; 'e', 'f', 'g' and '%' as in C.
std::string format_float(double value, const Spec& s) {
  std::string body;
  const double size = std::abs(value);
  const std::string sign = sign_of(std::signbit(value) && !std::isnan(value), s);
  if (!std::isfinite(value)) {
    body = std::isnan(value) ? "nan" : "inf";
    if (s.type == 'F' || s.type == 'E' || s.type == 'G')
      std::transform(body.begin(), body.end(), body.begin(), characters::upper);
    return aligned(sign, s.type == '%' ? body + "%" : body, s, '>');
  }
  if (!s.type && s.precision < 0) {
    body = float_text(size);
  } else {
    const char type = s.type == '%' ? 'f' : !s.type || s.type == 'n' ? 'g' : s.type;
    const int precision = s.precision < 0 ? 6 : static_cast<int>(s.precision);
    body = decimal(s.type == '%' ? size * 100 : size, type, precision, s.alternative);
    const bool bare = body.find_first_of(".e") == std::string::npos;
    if (!s.type && bare) body += ".0";
    if (s.type == '%') body += "%";
  }
  return aligned(sign, grouped(std::move(body), s.group, 3), s, '>');
}

[[noreturn]] void wrong_type(const Spec& s, const char* type) {
  fail(ErrorKind::kValue, "Unknown format code '", std::string(1, s.type), "' for object of type '",
       type, "'");
}

struct Pieces {
  std::string all;
  size_t automatic = 0;  // index of the next {} without a number
  bool numbered = false, counted = false;
};

const IValue& field(std::string_view name, const Stack& stack, size_t first, Pieces& pieces) {
  size_t at = 0;
  int64_t index = 0;
  if (name.empty()) {
    index = static_cast<int64_t>(pieces.automatic++);
    pieces.counted = true;
  } else {
    if (name.find_first_not_of("0123456789") != std::string_view::npos)
      fail(ErrorKind::kRuntime, "KeyError: '", name, "'");
    index = digits(name, at, kMaxFormatWidth);
    pieces.numbered = true;
  }
  if (pieces.numbered && pieces.counted)
    fail(ErrorKind::kValue, pieces.automatic && !name.empty()
                                ? "cannot switch from automatic field numbering to manual field "
                                  "specification"
                                : "cannot switch from manual field specification to automatic "
                                  "field numbering");
  if (first + static_cast<size_t>(index) >= stack.size())
    fail(ErrorKind::kIndex, "Replacement index ", index, " out of range for positional args tuple");
  return stack[first + static_cast<size_t>(index)];
}

// format(str self, ...): the last n values of the stack, `self` first.
void format(Stack& stack, size_t n) {
  if (n == 0 || stack.size() < n) fail(ErrorKind::kType, "format: expected a str");
  const size_t base = stack.size() - n;
  const std::string pattern = from_value<std::string>(stack[base]);
  Pieces pieces;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '{' && c != '}') {
      pieces.all += c;
      continue;
    }
    if (i + 1 < pattern.size() && pattern[i + 1] == c) {
      pieces.all += c;
      ++i;
      continue;
    }
    if (c == '}') fail(ErrorKind::kValue, "Single '}' encountered in format string");
    if (i + 1 == pattern.size()) fail(ErrorKind::kValue, "Single '{' encountered in format string");
    const size_t end = pattern.find('}', i);
    if (end == std::string::npos) fail(ErrorKind::kValue, "expected '}' before end of string");
    std::string_view inside(pattern.data() + i + 1, end - i - 1);
    const size_t colon = inside.find(':');
    const std::string_view spec =
        colon == std::string_view::npos ? std::string_view() : inside.substr(colon + 1);
    pieces.all += formatted(field(inside.substr(0, colon), stack, base + 1, pieces), spec);
    i = end;
  }
  stack.resize(base);
  stack.emplace_back(std::move(pieces.all));
}

// percentFormat(str self, ...): "%s %d %.2f".
void percent_format(Stack& stack, size_t n) {
  if (n == 0 || stack.size() < n) fail(ErrorKind::kType, "percentFormat: expected a str");
  const size_t base = stack.size() - n;
  const std::string pattern = from_value<std::string>(stack[base]);
  std::string all;
  size_t used = 1;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      all += pattern[i];
      continue;
    }
    if (++i < pattern.size() && pattern[i] == '%') {
      all += '%';
      continue;
    }
    const size_t from = i;
    while (i < pattern.size() && (characters::is_digit(pattern[i]) || pattern[i] == '.' ||
                                  pattern[i] == '-' || pattern[i] == '+' || pattern[i] == ' '))
      ++i;
    if (i >= pattern.size()) fail(ErrorKind::kValue, "incomplete format");
    if (used >= n) fail(ErrorKind::kType, "not enough arguments for format string");
    const IValue& value = stack[base + used++];
    std::string spec = pattern.substr(from, i - from);
    const char type = pattern[i];
    const bool left = !spec.empty() && spec[0] == '-';
    if (left) spec.erase(0, 1);
    const bool zeros = !spec.empty() && spec[0] == '0';
    spec = (left ? "<" : zeros ? "" : ">") + spec;
    if (type == 's' || type == 'r') {
      all += formatted(IValue(text_of(value)), spec);
    } else if (type == 'd' || type == 'i' || type == 'x' || type == 'X' || type == 'o') {
      const auto number = from_value<Scalar>(value);
      all += formatted(IValue(number.to_int()), spec + (type == 'i' ? 'd' : type));
    } else if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      all += formatted(IValue(from_value<Scalar>(value).to_double()), spec + type);
    } else {
      fail(ErrorKind::kValue, "unsupported format character '", std::string(1, type), "'");
    }
  }
  if (used < n) fail(ErrorKind::kType, "not all arguments converted during string formatting");
  stack.resize(base);
  stack.emplace_back(std::move(all));
}

}  // namespace

std::string formatted(const IValue& value, std::string_view spec) {
  if (spec.empty()) return text_of(value);
  const Spec s = parse_spec(spec);
  const auto is_one_of = [&](std::string_view types) {
    return s.type && types.find(s.type) != std::string_view::npos;
  };
  if (const auto* text = value.get_if<std::string>()) {
    if (s.type && s.type != 's') wrong_type(s, "str");
    const size_t end = s.precision < 0 ? text->size() : characters::byte_of(*text, s.precision);
    return aligned("", text->substr(0, end), s, '<');
  }
  const auto* truth = value.get_if<bool>();
  if (truth && !s.type) return aligned("", *truth ? "True" : "False", s, '<');
  const auto* integer = value.get_if<int64_t>();
  if (integer || truth) {
    const int64_t number = integer ? *integer : *truth;
    if (!s.type || is_one_of("bcdoxXn")) return format_int(number, s);
    if (!is_one_of("eEfFgG%")) wrong_type(s, "int");
    return format_float(static_cast<double>(number), s);
  }
  if (const auto* real = value.get_if<double>()) {
    if (s.type && !is_one_of("eEfFgG%n")) wrong_type(s, "float");
    return format_float(*real, s);
  }
  if (const auto* t = value.get_if<Tensor>(); t && *t && t->ndim() == 0 && !t->is_meta())
    return formatted(number_value(*t), spec);
  fail(ErrorKind::kType, "unsupported format string passed to ", value.type_name(), ".__format__");
}

void define_formats() {
  define("format(str self, ...) -> str", format);
  define("percentFormat(str self, ...) -> str", percent_format);
}

}  // namespace uh::jit
