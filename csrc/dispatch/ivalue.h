// IValue and Stack: boxed arguments and results, a tagged union of all types.
//
// Callers that do not have an operator's C++ signature call through a Stack of IValues, as in
// PyTorch: the interpreter, recorded arguments, Python custom operators. Invariant: a container is
// held by reference, as in Python: two IValues may share one list, and both see what is appended.
// Numbers, strings and Dims are copied.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/holder_tracker.h"
#include "tensor/tensor.h"

namespace uh {

struct List;
struct Tuple;
struct Dict;
struct Object;

// The common base of lists, tuples, dictionaries and objects: a count and a kind.
struct Container : RefCounted {
  enum class Kind : int8_t { kList, kTuple, kDict, kObject };
  explicit Container(Kind k) : kind(k) {}
  const Kind kind;

  // Must be called after every write to the container: records its current references.
  void written() {
    if (events::on()) [[unlikely]]
      record_items();
  }

 protected:
  virtual void record_items() = 0;
  // Records these references as the current ones.
  void record_items(events::Holder holder, const std::vector<HolderTracker::Reference>& matches);

  int64_t number_ = 0;  // its id as a holder; 0 until it is recorded

 private:
  std::unique_ptr<HolderTracker> tracker_;  // destroyed after the items, which derived classes own
};

class IValue {
 public:
  using Variant =
      std::variant<std::monostate, Tensor, int64_t, double, bool, Dims, std::string,
                   std::vector<Tensor>, std::vector<double>, DType, Device, Scalar, Ref<Container>>;

  IValue() = default;
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, IValue>)
  IValue(T&& v) : v_(std::forward<T>(v)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(v_); }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&v_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&v_);
  }
  // Null if the value has another kind.
  List* list() const { return container<List>(Container::Kind::kList); }
  Tuple* tuple() const { return container<Tuple>(Container::Kind::kTuple); }
  Dict* dict() const { return container<Dict>(Container::Kind::kDict); }
  Object* object() const { return container<Object>(Container::Kind::kObject); }

  const Variant& variant() const { return v_; }
  std::string type_name() const;

 private:
  template <class T>
  T* container(Container::Kind kind) const {
    const auto* reference = std::get_if<Ref<Container>>(&v_);
    return reference && (*reference)->kind == kind ? static_cast<T*>(reference->get()) : nullptr;
  }

  Variant v_;
};

using Stack = std::vector<IValue>;

// Visits the tensors that a value holds directly: a tensor, or the elements of a tensor array. A
// container's items are held by the container.
template <class F>
void each_tensor(const IValue& value, F&& f) {
  if (const Tensor* t = value.get_if<Tensor>()) {
    if (*t) f(*t);
  } else if (const auto* tensors = value.get_if<std::vector<Tensor>>()) {
    for (const Tensor& t : *tensors)
      if (t) f(t);
  }
}

struct List final : Container {
  List() : Container(Kind::kList) {}
  explicit List(std::vector<IValue> values) : Container(Kind::kList), items(std::move(values)) {
    written();
  }
  std::vector<IValue> items;

 protected:
  void record_items() override;
};

struct Tuple final : Container {
  explicit Tuple(std::vector<IValue> values) : Container(Kind::kTuple), items(std::move(values)) {
    written();
  }
  const std::vector<IValue> items;

 protected:
  void record_items() override;
};

// The items of a list or tuple; null for any other value.
const std::vector<IValue>* items_of(const IValue& value);

// Entries are in insertion order, as in Python. Keys are numbers, strings or tensors. Invariant:
// entries_of_hash_ maps each key's hash to its entry.
struct Dict final : Container {
  Dict() : Container(Kind::kDict) {}

  using Entry = std::pair<IValue, IValue>;
  const std::vector<Entry>& items() const { return items_; }
  size_t size() const { return items_.size(); }
  const IValue* find(const IValue& key) const;  // null if absent
  void put(IValue key, IValue value);
  bool remove(const IValue& key);
  void clear();

 protected:
  void record_items() override;

 private:
  std::vector<Entry> items_;
  std::unordered_multimap<size_t, size_t> entries_of_hash_;
};

// An instance of a class of the JIT, usually a module: its attributes by slot. `type` is a
// jit::ClassType, `methods` its jit::Methods, which this layer does not include.
struct Object final : Container {
  Object(Ref<RefCounted> t, Ref<RefCounted> m, size_t n)
      : Container(Kind::kObject), type(std::move(t)), methods(std::move(m)), slots(n) {}
  ~Object() override;
  const Ref<RefCounted> type;
  const Ref<RefCounted> methods;
  std::vector<IValue> slots;

  // Returns an attribute's name for recordings; the JIT provides the function.
  using AttributeName = std::string (*)(const Object& object, size_t slot, int64_t number);
  static AttributeName attribute_name;

 protected:
  void record_items() override;
};

template <class T, class... A>
IValue make_container(A&&... args) {
  return IValue(Ref<Container>(make_ref<T>(std::forward<A>(args)...)));
}

// Python's ==, except for tensors and objects, which are compared by identity: values, 1 == 1.0,
// containers item by item.
bool equal(const IValue& a, const IValue& b);

// PyTorch's numbers of dtypes in graphs: 6 is float32.
int64_t pytorch_code(DType dtype);
DType dtype_of_pytorch_code(int64_t code);

// Converts an IValue to the C++ type T of a kernel's parameter, or throws a TypeError naming both.
template <class T>
T from_value(const IValue& value);

// Boxes a kernel's parameter; an absent one becomes None.
template <class T>
IValue to_value(const T& value) {
  return IValue(value);
}
template <class T>
IValue to_value(const std::optional<T>& value) {
  return value ? IValue(*value) : IValue();
}
inline IValue to_value(const Tensor& t) { return t ? IValue(t) : IValue(); }
inline IValue to_value(const Operand& o) {
  return o.is_number() ? IValue(o.number) : IValue(o.tensor);
}
inline IValue to_value(DType t) { return t == DType::kUndefined ? IValue() : IValue(t); }
inline IValue to_value(Device d) { return d == Device::kUndefined ? IValue() : IValue(d); }
inline IValue to_value(MemoryFormat f) {
  return f == MemoryFormat::kUndefined ? IValue() : IValue(static_cast<int64_t>(f));
}

}  // namespace uh
