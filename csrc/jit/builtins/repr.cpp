// str() of values, as in Python.
#include <charconv>
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "jit/builtins/float_conversion.h"
#include "jit/builtins/register_builtin.h"
#include "jit/builtins/string_format.h"
#include "jit/ir/type.h"

namespace uh::jit {
namespace {

template <class Items, class Each>
std::string bracketed(const Items& items, const char* open, const char* close, const Each& each) {
  std::string all = open;
  for (size_t i = 0; i < items.size(); ++i) all += (i ? ", " : "") + each(items[i]);
  return all + close;
}

std::string repr(const std::string& text) {
  const char quote =
      text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string all(1, quote);
  for (const char c : text) {
    if (c == '\n') {
      all += "\\n";
    } else if (c == '\t') {
      all += "\\t";
    } else if (c == '\r') {
      all += "\\r";
    } else if (c == quote || c == '\\') {
      (all += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
      all += code;
    } else {
      all += c;
    }
  }
  return all + quote;
}

std::string complex_text(Complex128 z) {
  std::string im = float_text(z.im);
  if (im.ends_with(".0")) im.resize(im.size() - 2);
  if (z.re == 0 && !std::signbit(z.re)) return im + "j";
  std::string re = float_text(z.re);
  if (re.ends_with(".0")) re.resize(re.size() - 2);
  return "(" + re + (im[0] == '-' ? "" : "+") + im + "j)";
}

std::string scalar_text(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::kBool: return s.to_bool() ? "True" : "False";
    case Scalar::Kind::kInt: return std::to_string(s.to_int());
    case Scalar::Kind::kFloat: return float_text(s.to_double());
    case Scalar::Kind::kComplex: break;
  }
  return complex_text(s.to_complex());
}

// Prints a tensor's numbers in columns; long dimensions are abbreviated.
class TensorText {
 public:
  explicit TensorText(const Tensor& t)
      : t_(t), dense_(as_contiguous(t)), short_(t.numel() > kMaxPrinted) {
    integral_ = true;
    each(0, 0, [&](const Scalar& s) {
      integral_ &= !s.is_float() || !std::isfinite(s.to_double()) ||
                   s.to_double() == std::trunc(s.to_double());
      const double size = s.is_complex() ? 0 : std::abs(s.to_double());
      scientific_ |= s.is_float() && std::isfinite(size) && (size >= 1e8 || (size && size < 1e-4));
    });
    each(0, 0, [&](const Scalar& s) { width_ = std::max(width_, number(s).size()); });
  }

  std::string text() const {
    std::string all = "tensor(";
    all += t_.numel() == 0 ? "[]" : nested(0, 0, all.size());
    if (t_.numel() == 0 && t_.ndim() != 1) all += ", size=" + sizes();
    const DType inferred = is_floating(t_.dtype()) ? default_dtype() : DType::kInt64;
    const bool is_implied = t_.dtype() == inferred || t_.dtype() == DType::kBool;
    if (!is_implied || t_.numel() == 0)
      if (t_.dtype() != default_dtype()) all += ", dtype=torch." + std::string(name(t_.dtype()));
    return all + ")";
  }

 private:
  static constexpr int64_t kMaxPrinted = 1000, kEnds = 3;

  std::string sizes() const {
    return bracketed(t_.sizes(), "(", ")", [](int64_t n) { return std::to_string(n); });
  }

  // Reads an element without making tensors.
  Scalar at(int64_t element) const {
    return visit_any(dense_.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_same_v<T, bool>) {
        return Scalar(dense_.data_as<uint8_t>()[element] != 0);
      } else {
        const T value = dense_.data_as<T>()[element];
        if constexpr (is_complex_v<T>)
          return Scalar(Complex128(value));
        else if constexpr (std::is_integral_v<T>)
          return Scalar(static_cast<int64_t>(value));
        else
          return Scalar(static_cast<double>(value));
      }
    });
  }

  std::string number(const Scalar& s) const {
    if (!s.is_float()) return scalar_text(s);
    const double d = s.to_double();
    if (!std::isfinite(d)) return float_text(d);
    if (scientific_) return decimal(d, 'e', 4);
    return integral_ ? decimal(d, 'f', 0, true) : decimal(d, 'f', 4);
  }

  // The visible indices of a dimension; -1 means the ellipsis.
  std::vector<int64_t> visible_indices(int64_t dim) const {
    std::vector<int64_t> all;
    const int64_t n = t_.size(dim);
    for (int64_t i = 0; i < n; ++i) {
      if (short_ && n > 2 * kEnds && i == kEnds) {
        all.push_back(-1);
        i = n - kEnds;
      }
      all.push_back(i);
    }
    return all;
  }

  template <class Visit>
  void each(int64_t dim, int64_t element, const Visit& visit) const {
    if (t_.numel() == 0) return;
    if (dim == t_.ndim()) return visit(at(element));
    for (const int64_t i : visible_indices(dim))
      if (i >= 0) each(dim + 1, element + i * dense_.stride(dim), visit);
  }

  std::string nested(int64_t dim, int64_t element, size_t indent) const {
    if (dim == t_.ndim()) {
      const std::string text = number(at(element));
      return t_.ndim() ? std::string(width_ - text.size(), ' ') + text : text;
    }
    const int64_t below = t_.ndim() - dim - 1;
    const std::string between =
        below ? "," + std::string(static_cast<size_t>(below), '\n') + std::string(indent + 1, ' ')
              : ", ";
    std::string all = "[";
    bool first = true;
    for (const int64_t i : visible_indices(dim)) {
      all += first ? "" : between;
      first = false;
      all += i < 0 ? "..." : nested(dim + 1, element + i * dense_.stride(dim), indent + 1);
    }
    return all + "]";
  }

  const Tensor& t_;
  const Tensor dense_;
  const bool short_;
  bool integral_ = true, scientific_ = false;
  size_t width_ = 0;
};

std::string tensor_text(const Tensor& t) {
  if (!t) return "None";
  if (t.is_meta()) {
    return "tensor(..., device='meta', size=" +
           bracketed(t.sizes(), "(", ")", [](int64_t n) { return std::to_string(n); }) + ")";
  }
  return TensorText(t).text();
}

// A value within a container: strings in quotes. Containers may contain themselves.
std::string item_text(const IValue& value, int depth);

std::string inside(const IValue& value, int depth) {
  if (depth > 50) return "...";
  const auto each = [&](const IValue& v) { return item_text(v, depth + 1); };
  if (const List* list = value.list()) return bracketed(list->items, "[", "]", each);
  if (const Tuple* tuple = value.tuple())
    return bracketed(tuple->items, "(", tuple->items.size() == 1 ? ",)" : ")", each);
  if (const Dict* dict = value.dict())
    return bracketed(dict->items(), "{", "}", [&](const Dict::Entry& entry) {
      return each(entry.first) + ": " + each(entry.second);
    });
  if (enum_of(value)) {  // PyTorch's format: Enum<Color.RED>
    const std::string name = member_text(value);
    const size_t dot = name.rfind('.', name.rfind('.') - 1);
    return "Enum<" + name.substr(dot + 1) + ">";
  }
  if (const Object* object = value.object()) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%p", static_cast<const void*>(object));
    return "<" + static_cast<const Type*>(object->type.get())->text() + " object at " + buffer +
           ">";
  }
  return text_of(value);
}

std::string item_text(const IValue& value, int depth) {
  const auto* text = value.get_if<std::string>();
  return text ? repr(*text) : inside(value, depth);
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[400];
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto notation = plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::string all(text, std::to_chars(text, text + sizeof text, value, notation).ptr);
  if (plain && all.find('.') == std::string::npos) all += ".0";
  return all;
}

std::string text_of(const IValue& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* t = value.get_if<Tensor>()) return tensor_text(*t);
  if (const auto* i = value.get_if<int64_t>()) return std::to_string(*i);
  if (const auto* d = value.get_if<double>()) return float_text(*d);
  if (const auto* b = value.get_if<bool>()) return *b ? "True" : "False";
  if (const auto* s = value.get_if<Scalar>()) return scalar_text(*s);
  if (const auto* device = value.get_if<Device>()) return std::string(name(*device));
  if (const auto* dtype = value.get_if<DType>()) return std::to_string(pytorch_code(*dtype));
  if (value.is_none()) return "None";
  if (value.get_if<Ref<Container>>()) return inside(value, 0);
  return inside(with_lists(value), 0);
}

}  // namespace uh::jit
