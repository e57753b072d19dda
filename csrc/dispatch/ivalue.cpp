#include "dispatch/ivalue.h"

namespace uh {

template <>
Scalar from_value<Scalar>(const IValue& v);

namespace {

[[noreturn]] void wrong(const IValue& value, std::string_view expected) {
  fail(ErrorKind::kType, "boxed call: expected ", expected, ", got ", value.type_name());
}

template <class T>
T exactly(const IValue& value, std::string_view expected) {
  if (const T* v = value.get_if<T>()) return *v;
  wrong(value, expected);
}

bool is_number(const IValue& v) {
  return v.get_if<int64_t>() || v.get_if<double>() || v.get_if<bool>() || v.get_if<Scalar>();
}

bool equal_numbers(const Scalar& a, const Scalar& b) {
  if (a.is_complex() || b.is_complex())
    return a.to_complex().re == b.to_complex().re && a.to_complex().im == b.to_complex().im;
  if (a.is_float() || b.is_float()) return a.to_double() == b.to_double();
  return a.to_int() == b.to_int();
}

bool equal_items(const std::vector<IValue>& a, const std::vector<IValue>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i])) return false;
  return true;
}

size_t hash_of(const IValue& key) {
  if (const auto* text = key.get_if<std::string>()) return std::hash<std::string>()(*text);
  if (const auto* tensor = key.get_if<Tensor>()) return std::hash<TensorImpl*>()(tensor->impl());
  check_kind(is_number(key), ErrorKind::kType, "dict: a key is a number, a str or a Tensor, not ",
             key.type_name());
  return std::hash<double>()(from_value<Scalar>(key).to_double());
}

Device parse_device(const std::string& text) {
  if (const std::optional<Device> device = find_device(text)) return *device;
  fail(ErrorKind::kRuntime, "device: the engine has 'cpu' and 'meta', not '", text, "'");
}

constexpr int kNoCode = -1;
// In the order of UH_DTYPES.
constexpr int kPyTorchCodes[] = {11, 0, 1, 2, 3, 4, 5, 15, 6, 7, 9, 10};
static_assert(std::size(kPyTorchCodes) == kDTypeCount);

}  // namespace

const std::vector<IValue>* items_of(const IValue& value) {
  if (const List* list = value.list()) return &list->items;
  if (const Tuple* tuple = value.tuple()) return &tuple->items;
  return nullptr;
}

int64_t pytorch_code(DType dtype) {
  return dtype == DType::kUndefined ? kNoCode : kPyTorchCodes[static_cast<size_t>(dtype)];
}

DType dtype_of_pytorch_code(int64_t code) {
  for (size_t i = 0; i < std::size(kPyTorchCodes); ++i)
    if (kPyTorchCodes[i] == code) return static_cast<DType>(i);
  fail(ErrorKind::kType, "dtype: no dtype of the engine has PyTorch's code ", code);
}

std::string IValue::type_name() const {
  static const char* const kNames[] = {"None", "Tensor",   "int",     "float", "bool",   "int[]",
                                       "str",  "Tensor[]", "float[]", "dtype", "device", "Scalar"};
  if (v_.index() < std::size(kNames)) return kNames[v_.index()];
  static const char* const kContainers[] = {"list", "tuple", "dict", "object"};
  return kContainers[static_cast<size_t>((*get_if<Ref<Container>>())->kind)];
}

namespace {
// An object without methods is an Enum member: equal if the Enum and the value are.
bool same_member(const Object& a, const Object& b) {
  return !a.methods && !b.methods && a.type.get() == b.type.get() && equal_items(a.slots, b.slots);
}
}  // namespace

bool equal(const IValue& a, const IValue& b) {
  if (is_number(a) && is_number(b))
    return equal_numbers(from_value<Scalar>(a), from_value<Scalar>(b));
  const auto* x = a.get_if<Ref<Container>>();
  const auto* y = b.get_if<Ref<Container>>();
  if (x && y) {
    if ((*x)->kind != (*y)->kind) return false;
    if (a.list()) return equal_items(a.list()->items, b.list()->items);
    if (a.tuple()) return equal_items(a.tuple()->items, b.tuple()->items);
    if (a.object()) return a.object() == b.object() || same_member(*a.object(), *b.object());
    if (a.dict()->size() != b.dict()->size()) return false;
    for (const auto& [key, value] : a.dict()->items()) {
      const IValue* other = b.dict()->find(key);
      if (!other || !equal(value, *other)) return false;
    }
    return true;
  }
  if (a.variant().index() != b.variant().index()) return false;
  return std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        const T& w = *b.get_if<T>();
        if constexpr (std::is_same_v<T, std::monostate>) {
          return true;
        } else if constexpr (std::is_same_v<T, Tensor>) {
          return v.is_same(w);
        } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
          return v.size() == w.size() && std::equal(v.begin(), v.end(), w.begin(),
                                                    [](auto& p, auto& q) { return p.is_same(q); });
        } else if constexpr (std::is_same_v<T, Dims>) {
          return std::equal(v.begin(), v.end(), w.begin(), w.end());
        } else if constexpr (std::is_same_v<T, Scalar> || std::is_same_v<T, Ref<Container>>) {
          return false;  // compared above
        } else {
          return v == w;
        }
      },
      a.variant());
}

const IValue* Dict::find(const IValue& key) const {
  const auto [first, last] = entries_of_hash_.equal_range(hash_of(key));
  for (auto it = first; it != last; ++it)
    if (equal(items_[it->second].first, key)) return &items_[it->second].second;
  return nullptr;
}

void Dict::put(IValue key, IValue value) {
  if (const IValue* match = find(key)) {
    *const_cast<IValue*>(match) = std::move(value);
    return written();
  }
  entries_of_hash_.emplace(hash_of(key), items_.size());
  items_.emplace_back(std::move(key), std::move(value));
  written();
}

bool Dict::remove(const IValue& key) {
  const IValue* match = find(key);
  if (!match) return false;
  for (auto it = items_.begin(); it != items_.end(); ++it) {
    if (&it->second != match) continue;
    items_.erase(it);
    break;
  }
  entries_of_hash_.clear();
  for (size_t i = 0; i < items_.size(); ++i) entries_of_hash_.emplace(hash_of(items_[i].first), i);
  written();
  return true;
}

void Dict::clear() {
  items_.clear();
  entries_of_hash_.clear();
  written();
}

template <>
Tensor from_value<Tensor>(const IValue& v) {
  if (v.is_none()) return Tensor();
  return exactly<Tensor>(v, "Tensor");
}
template <>
int64_t from_value<int64_t>(const IValue& v) {
  if (const bool* b = v.get_if<bool>()) return *b;
  if (const Scalar* s = v.get_if<Scalar>(); s && s->kind() <= Scalar::Kind::kInt)
    return s->to_int();
  return exactly<int64_t>(v, "int");
}
template <>
double from_value<double>(const IValue& v) {
  if (const int64_t* i = v.get_if<int64_t>()) return static_cast<double>(*i);
  if (const Scalar* s = v.get_if<Scalar>(); s && !s->is_complex()) return s->to_double();
  return exactly<double>(v, "float");
}
template <>
bool from_value<bool>(const IValue& v) {
  if (const int64_t* i = v.get_if<int64_t>()) return *i != 0;
  if (const Scalar* s = v.get_if<Scalar>()) return s->to_bool();
  return exactly<bool>(v, "bool");
}
template <>
Scalar from_value<Scalar>(const IValue& v) {
  if (const Scalar* s = v.get_if<Scalar>()) return *s;
  if (const bool* b = v.get_if<bool>()) return Scalar(*b);
  if (const int64_t* i = v.get_if<int64_t>()) return Scalar(*i);
  if (const double* d = v.get_if<double>()) return Scalar(*d);
  wrong(v, "Scalar");
}
template <>
std::optional<Scalar> from_value<std::optional<Scalar>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<Scalar>(v);
}
template <>
std::optional<int64_t> from_value<std::optional<int64_t>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<int64_t>(v);
}
template <>
std::optional<bool> from_value<std::optional<bool>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<bool>(v);
}
template <>
std::optional<double> from_value<std::optional<double>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<double>(v);
}
template <>
Operand from_value<Operand>(const IValue& v) {
  if (const Tensor* t = v.get_if<Tensor>()) return Operand(*t);
  return Operand(from_value<Scalar>(v));
}
template <>
Dims from_value<Dims>(const IValue& v) {
  if (const int64_t* i = v.get_if<int64_t>()) return Dims{*i};
  if (const auto* items = items_of(v)) {
    Dims dims;
    for (const IValue& item : *items) dims.push_back(from_value<int64_t>(item));
    return dims;
  }
  return exactly<Dims>(v, "int[]");
}
template <>
std::optional<Dims> from_value<std::optional<Dims>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<Dims>(v);
}
template <>
std::string from_value<std::string>(const IValue& v) {
  return exactly<std::string>(v, "str");
}
template <>
std::optional<std::string> from_value<std::optional<std::string>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<std::string>(v);
}
template <>
std::vector<double> from_value<std::vector<double>>(const IValue& v) {
  if (const Dims* ints = v.get_if<Dims>()) return std::vector<double>(ints->begin(), ints->end());
  if (const auto* items = items_of(v)) {
    std::vector<double> numbers;
    for (const IValue& item : *items) numbers.push_back(from_value<double>(item));
    return numbers;
  }
  return exactly<std::vector<double>>(v, "float[]");
}
template <>
std::optional<std::vector<double>> from_value<std::optional<std::vector<double>>>(const IValue& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<std::vector<double>>(v);
}
template <>
std::vector<Tensor> from_value<std::vector<Tensor>>(const IValue& v) {
  if (const auto* items = items_of(v)) {
    std::vector<Tensor> tensors;
    for (const IValue& item : *items) tensors.push_back(from_value<Tensor>(item));
    return tensors;
  }
  return exactly<std::vector<Tensor>>(v, "Tensor[]");
}
template <>
DType from_value<DType>(const IValue& v) {
  if (v.is_none()) return DType::kUndefined;
  if (const int64_t* code = v.get_if<int64_t>()) return dtype_of_pytorch_code(*code);
  return exactly<DType>(v, "dtype");
}
template <>
MemoryFormat from_value<MemoryFormat>(const IValue& v) {
  if (v.is_none()) return MemoryFormat::kUndefined;
  const auto code = from_value<int64_t>(v);
  check_kind(code >= 0 && code <= static_cast<int64_t>(MemoryFormat::kChannelsLast3d),
             ErrorKind::kType, "boxed call: no memory format has the code ", code);
  return static_cast<MemoryFormat>(code);
}
template <>
Device from_value<Device>(const IValue& v) {
  if (v.is_none()) return Device::kUndefined;
  if (const std::string* text = v.get_if<std::string>()) return parse_device(*text);
  return exactly<Device>(v, "device");
}

}  // namespace uh
