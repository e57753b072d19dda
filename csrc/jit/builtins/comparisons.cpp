// = != < <= > >= and is, for numbers, strings, devices and lists; min and max.
#include <algorithm>
#include <optional>

#include "generated/ops/comparison.h"
#include "jit/builtins/register_builtin.h"
#include "jit/builtins/tensors.h"
#include "jit/function.h"
#include "jit/ir/type.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Z = Complex128;

struct Eq {
  static bool of(auto a, auto b) { return a == b; }
  static bool complex(Z a, Z b) { return a.re == b.re && a.im == b.im; }
  static bool values(const IValue& a, const IValue& b) { return equal(a, b); }
};
struct Ne {
  static bool of(auto a, auto b) { return a != b; }
  static bool complex(Z a, Z b) { return !Eq::complex(a, b); }
  static bool values(const IValue& a, const IValue& b) { return !equal(a, b); }
};
struct Lt {
  static bool of(const auto& a, const auto& b) { return a < b; }
};
struct Le {
  static bool of(const auto& a, const auto& b) { return a <= b; }
};
struct Gt {
  static bool of(const auto& a, const auto& b) { return b < a; }
};
struct Ge {
  static bool of(const auto& a, const auto& b) { return b <= a; }
};

template <class F>
void define_numbers(const std::string& name, TagSet tags) {
  constexpr auto floats = &boxed<[](double a, double b) { return F::of(a, b); }>;
  define(name + ".int(int a, int b) -> bool", boxed<[](Int a, Int b) { return F::of(a, b); }>,
         tags);
  define(name + ".float(float a, float b) -> bool", floats, tags);
  define(name + ".int_float(int a, float b) -> bool", floats, tags);
  define(name + ".float_int(float a, int b) -> bool", floats, tags);
  define(name + ".str(str a, str b) -> bool",
         boxed<[](StringArg a, StringArg b) { return F::of(a, b); }>, tags);
}

template <class F>
void define_order(const std::string& name) {
  define_numbers<F>(name, kNeverRaises);
  define(name + "(Scalar a, Scalar b) -> bool", boxed<[](Scalar a, Scalar b) {
           if (a.is_float() || b.is_float()) return F::of(a.to_double(), b.to_double());
           return F::of(a.to_int(), b.to_int());
         }>);
}

template <class F>
void define_equality(const std::string& name) {
  constexpr TagSet tags = kNeverRaises | kCommutative;
  define(name + ".bool(bool a, bool b) -> bool", boxed<[](bool a, bool b) { return F::of(a, b); }>,
         tags);
  define_numbers<F>(name, tags);
  constexpr auto complex = &boxed<[](Z a, Z b) { return F::complex(a, b); }>;
  define(name + ".complex(complex a, complex b) -> bool", complex, tags);
  define(name + ".complex_float(complex a, float b) -> bool", complex, tags);
  define(name + ".float_complex(float a, complex b) -> bool", complex, tags);
  define(name + ".device(Device a, Device b) -> bool",
         boxed<[](Device a, Device b) { return F::of(a, b); }>);
  constexpr auto values = &boxed<[](const IValue& a, const IValue& b) { return F::values(a, b); }>;
  define_each(name + ".$_list($[] a, $[] b) -> bool", {"int", "float", "bool", "str"}, values);
  define(name + "(Scalar a, Scalar b) -> bool", values, tags);
}

// Tensors are the same if all elements are equal, like bool((a == b).all()).
bool same_tensors(const List& a, const List& b) {
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    const auto x = from_value<Tensor>(a.items[i]), y = from_value<Tensor>(b.items[i]);
    if (!x.is_same(y) && !tensors_equal(x, y)) return false;
  }
  return true;
}

// `None is None`; other values by identity, small values by value.
bool is_same(const IValue& a, const IValue& b) {
  if (a.is_none() || b.is_none()) return a.is_none() == b.is_none();
  const auto* x = a.get_if<Ref<Container>>();
  const auto* y = b.get_if<Ref<Container>>();
  if (x || y) return x && y && (x->get() == y->get() || (enum_of(a) && equal(a, b)));
  const auto dtype = [](const IValue& v) -> std::optional<int64_t> {
    if (const auto* d = v.get_if<DType>()) return pytorch_code(*d);
    if (const auto* i = v.get_if<int64_t>()) return *i;  // prim::dtype returns an int
    return std::nullopt;
  };
  if (const auto p = dtype(a), q = dtype(b); p && q) return *p == *q;
  return a.variant().index() == b.variant().index() && equal(a, b);
}

struct Min {
  static constexpr const char* kEmpty = "min() arg is an empty sequence";
  static bool better(const IValue& a, const IValue& b) { return less(a, b); }
};
struct Max {
  static constexpr const char* kEmpty = "max() arg is an empty sequence";
  static bool better(const IValue& a, const IValue& b) { return less(b, a); }
};

// As in Python: returns the first of equal values.
template <class F>
void define_best(const std::string& name) {
  constexpr auto two =
      &boxed<[](const IValue& a, const IValue& b) { return IValue(F::better(b, a) ? b : a); }>;
  define("prim::" + name + ".int(int a, int b) -> int", two, kNeverRaises);
  define("prim::" + name + ".float(float a, float b) -> float", two, kNeverRaises);
  constexpr auto floats =
      &boxed<[](double a, double b) { return F::better(IValue(b), IValue(a)) ? b : a; }>;
  define("prim::" + name + ".int_float(int a, float b) -> float", floats, kNeverRaises);
  define("prim::" + name + ".float_int(float a, int b) -> float", floats, kNeverRaises);
  define("prim::" + name + "(Scalar a, Scalar b) -> Scalar", two, kNeverRaises);
  for (const char* type : {"int", "float", "bool"}) {
    const std::string of(type);
    define("prim::" + name + "." + of + "_list(" + of + "[] l, " + of + "[] r) -> " + of + "[]",
           two);
    define("prim::" + name + ".self_" + of + "(" + of + "[] self) -> " + of, boxed<[](List& list) {
             if (list.items.empty()) fail(ErrorKind::kValue, F::kEmpty);
             const IValue* best = &list.items[0];
             for (const IValue& item : list.items)
               if (F::better(item, *best)) best = &item;
             return IValue(*best);
           }>);
  }
}

// Compares by the __lt__ of the class.
bool less_objects(const IValue& a, const IValue& b) {
  const TypeRef type = type_of(a);
  const Ref<Function> compare = type->is(TypeKind::kClass)
                                    ? static_cast<const ClassType&>(*type).method("__lt__")
                                    : Ref<Function>();
  check_kind(static_cast<bool>(compare), ErrorKind::kType,
             "'<' not supported between instances of '", type->annotation(), "'");
  Stack stack{a, b};
  compare->call(stack);
  return from_value<bool>(stack.back());
}

bool less_items(const std::vector<IValue>& a, const std::vector<IValue>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (equal(a[i], b[i])) continue;
    return less(a[i], b[i]);
  }
  return a.size() < b.size();
}

}  // namespace

bool less(const IValue& a, const IValue& b) {
  if (const auto* x = a.get_if<int64_t>())
    if (const auto* y = b.get_if<int64_t>()) return *x < *y;
  const auto* x = a.get_if<std::string>();
  const auto* y = b.get_if<std::string>();
  if (x && y) return *x < *y;
  if (a.list() && b.list()) return less_items(a.list()->items, b.list()->items);
  if (a.tuple() && b.tuple()) return less_items(a.tuple()->items, b.tuple()->items);
  if (const auto* t = a.get_if<Tensor>())
    return less(number_value(*t), number_value(from_value<Tensor>(b)));
  if (a.object()) return less_objects(a, b);
  const auto p = from_value<Scalar>(a), q = from_value<Scalar>(b);
  if (p.is_float() || q.is_float()) return p.to_double() < q.to_double();
  return p.to_int() < q.to_int();
}

bool tensors_equal(const Tensor& a, const Tensor& b) {
  return a && b ? ops::equal(a, b) : !a && !b;
}

void define_comparisons() {
  define_equality<Eq>("eq");
  define_equality<Ne>("ne");
  define_order<Lt>("lt");
  define_order<Le>("le");
  define_order<Gt>("gt");
  define_order<Ge>("ge");
  define("eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool",
         boxed<[](List& a, List& b) { return same_tensors(a, b); }>);
  define("ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool",
         boxed<[](List& a, List& b) { return !same_tensors(a, b); }>);
  define("__is__(t1 self, t2 obj) -> bool",
         boxed<[](const IValue& a, const IValue& b) { return is_same(a, b); }>);
  define("__isnot__(t1 self, t2 obj) -> bool",
         boxed<[](const IValue& a, const IValue& b) { return !is_same(a, b); }>);
  define_best<Min>("min");
  define_best<Max>("max");
}

}  // namespace uh::jit
