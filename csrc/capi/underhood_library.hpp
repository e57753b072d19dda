// Custom operators in C++20 libraries that engine.ops.load_library loads. Header only.
//
//   #include <underhood/underhood_library.hpp>
//   static uh::Tensor twice(const uh::Tensor& x) { return x * 2; }
//   UH_LIBRARY(mine, m) { m.def("twice(Tensor x) -> Tensor"); }
//   UH_LIBRARY_IMPL(mine, CPU, m) { m.impl("twice", &twice); }
//
// A UH_LIBRARY block defines operators by their schemas, a UH_LIBRARY_IMPL block registers
// functions of ordinary C++ signatures as their kernels for a dispatch key: CPU, Meta (the fake
// kernel, which computes the sizes of the results), Autograd, CompositeImplicitAutograd or
// CompositeExplicitAutograd. Parameters are Tensor, std::vector<Tensor>, int64_t, double, bool,
// Scalar, std::string, std::vector<int64_t>, std::vector<double>, ScalarType, Device, MemoryFormat,
// and std::optional of them; results are the same, or a std::tuple of them. Invariant: a kernel has
// the types of its schema, except that it may read Tensor? as Tensor; def and impl reject others.
// An exception of a kernel is rethrown in the caller, also in Python.
#ifndef UNDERHOOD_LIBRARY_HPP
#define UNDERHOOD_LIBRARY_HPP

#include <functional>
#include <memory>
#include <new>

#include "capi/underhood.hpp"

namespace uh {
inline namespace v1 {

// A gradient formula's context: saved in the forward pass, read in the backward pass (PyTorch's
// ctx).
class AutogradContext {
 public:
  explicit AutogradContext(uh_formula_context* context) : context_(context) {}
  void save_for_backward(const std::vector<Tensor>& tensors) {
    std::vector<uh_handle> handles;
    for (const Tensor& t : tensors) handles.push_back(t.handle());
    detail::check(uh_formula_save(context_, handles.data(), static_cast<int64_t>(handles.size())) ==
                  0);
  }
  std::vector<Tensor> get_saved_variables() const {
    uh_list* const list = uh_formula_saved(context_);
    detail::check(list != nullptr);
    const uh_value value{UH_VALUE_TENSORS, list->n, 0, list};
    return detail::Unboxing<std::vector<Tensor>, true>::read(value);
  }
  // Saves a value that is not a Tensor, by name.
  template <class T>
  void save(const char* name, const T& value) {
    detail::Boxing boxing;
    const uh_value boxed = boxing.box(value);
    detail::check(uh_formula_set(context_, name, &boxed) == 0);
  }
  template <class T>
  T saved(const char* name) const {
    uh_value value{};
    detail::check(uh_formula_get(context_, name, &value) == 0);
    return detail::Unboxing<T, true>::read(value);
  }
  bool needs_input_grad(size_t argument) const {
    return uh_formula_needs_gradient(context_, static_cast<int64_t>(argument)) != 0;
  }
  void set_materialize_grads(bool on) { uh_formula_materialize(context_, on); }

 private:
  uh_formula_context* context_;
};

// Calls in this scope dispatch below Autograd: used by kernels for Autograd around their own call.
class AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd() : before_(uh_set_below_autograd(1)) {}
  ~AutoDispatchBelowAutograd() { uh_set_below_autograd(before_); }
  AutoDispatchBelowAutograd(const AutoDispatchBelowAutograd&) = delete;
  AutoDispatchBelowAutograd& operator=(const AutoDispatchBelowAutograd&) = delete;

 private:
  int before_;
};

// Operators by name with a function type, for calls of other libraries' operators.
//
//   static auto op = uh::Dispatcher::singleton()
//                        .findSchemaOrThrow("mine::twice", "").typed<uh::Tensor(const
//                        uh::Tensor&)>();
//   uh::Tensor y = op.call(x);
template <class F>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> {
 public:
  explicit TypedOperatorHandle(uh_operator* op) : op_(op) {}
  R call(A... arguments) const { return detail::call<R>(op_, arguments...); }

 private:
  uh_operator* op_;
};
class OperatorHandle {
 public:
  explicit OperatorHandle(uh_operator* op) : op_(op) {}
  template <class F>
  TypedOperatorHandle<std::remove_pointer_t<F>> typed() const {
    return TypedOperatorHandle<std::remove_pointer_t<F>>(op_);
  }

 private:
  uh_operator* op_;
};
class Dispatcher {
 public:
  static const Dispatcher& singleton() {
    static const Dispatcher dispatcher;
    return dispatcher;
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    const std::string full = *overload ? std::string(name) + "." + overload : std::string(name);
    return OperatorHandle(detail::find(full.c_str()));
  }
};

namespace detail {

// Runs f for the C ABI: an exception becomes this thread's last error.
template <class F>
int guarded(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const Error& error) {
    uh_set_error(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    uh_set_error(UH_ERROR_MEMORY, "out of memory");
  } catch (const std::out_of_range& error) {
    uh_set_error(UH_ERROR_INDEX, error.what());
  } catch (const std::invalid_argument& error) {
    uh_set_error(UH_ERROR_VALUE, error.what());
  } catch (const std::exception& error) {
    uh_set_error(UH_ERROR_RUNTIME, error.what());
  } catch (...) {
    uh_set_error(UH_ERROR_RUNTIME, "an exception that is not a std::exception");
  }
  return -1;
}

template <class T>
void add_result(uh_values* results, const T& value) {
  Boxing boxing;
  const uh_value boxed = boxing.box(value);
  check(uh_values_add(results, &boxed) == 0);
}
template <class... T>
void add_result(uh_values* results, const std::tuple<T...>& values) {
  std::apply([&](const auto&... each) { (add_result(results, each), ...); }, values);
}

// The schema type of a C++ type.
template <class T>
struct SchemaType {
  static std::string text() {
    if constexpr (std::is_void_v<T>)
      return "()";
    else if constexpr (std::is_same_v<T, Tensor>)
      return "Tensor";
    else if constexpr (std::is_same_v<T, bool>)
      return "bool";
    else if constexpr (std::is_same_v<T, int64_t>)
      return "int";
    else if constexpr (std::is_same_v<T, double>)
      return "float";
    else if constexpr (std::is_same_v<T, Scalar>)
      return "Scalar";
    else if constexpr (std::is_same_v<T, std::string>)
      return "str";
    else if constexpr (std::is_same_v<T, ScalarType>)
      return "ScalarType";
    else if constexpr (std::is_same_v<T, Device>)
      return "Device";
    else if constexpr (std::is_same_v<T, MemoryFormat>)
      return "MemoryFormat";
    else
      static_assert(kNever<T>,
                    "operators take int64_t, double, bool, Tensor, Scalar, std::string, "
                    "ScalarType, Device, MemoryFormat, and lists and optionals of them");
  }
};
template <class T>
struct SchemaType<std::optional<T>> {
  static std::string text() { return SchemaType<T>::text() + "?"; }
};
template <class T>
struct SchemaType<std::vector<T>> {
  static std::string text() { return SchemaType<T>::text() + "[]"; }
};
template <class... T>
struct SchemaType<std::tuple<T...>> {
  static std::string text() {
    std::string joined;
    ((joined += (joined.empty() ? "" : ", ") + SchemaType<T>::text()), ...);
    return "(" + joined + ")";
  }
};

// The signature of a function, a function pointer or a lambda without captures.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R(A...)> {
  static constexpr size_t kArity = sizeof...(A);
  template <class F, size_t... I>
  static void call(F& f, [[maybe_unused]] const uh_value* args, uh_values* results,
                   std::index_sequence<I...>) {
    // Parameters may be Tensor&.
    std::tuple<std::remove_cvref_t<A>...> values{
        Unboxing<std::remove_cvref_t<A>, false>::read(args[I])...};
    if constexpr (std::is_void_v<R>) {
      f(static_cast<A>(std::get<I>(values))...);
    } else {
      add_result(results, f(static_cast<A>(std::get<I>(values))...));
    }
  }
  // The schema that the function's type implies: "(Tensor _0, int _1) -> Tensor".
  static std::string schema() {
    std::string text = "(";
    [[maybe_unused]] int i = 0;
    ((text +=
      (i ? ", " : "") + SchemaType<std::remove_cvref_t<A>>::text() + " _" + std::to_string(i),
      ++i),
     ...);
    return text + ") -> " + SchemaType<std::remove_cvref_t<R>>::text();
  }
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R(A...)> {};

template <class F>
int run_kernel(void* context, const uh_value* args, int64_t, uh_values* results) {
  return guarded([&] {
    using S = Signature<F>;
    S::call(*static_cast<F*>(context), args, results, std::make_index_sequence<S::kArity>());
  });
}
template <class F>
void destroy(void* context) {
  delete static_cast<F*>(context);
}

using Backward =
    std::function<std::vector<Tensor>(AutogradContext&, const std::vector<Tensor>& gradients)>;
using SetupContext = std::function<void(AutogradContext&, const std::vector<Value>& inputs,
                                        const std::vector<Tensor>& outputs)>;
struct Formula {
  Backward backward;
  SetupContext setup_context;
};
// The tensors among values, one per value: empty for other values.
inline std::vector<Tensor> tensors_of(const uh_value* values, int64_t n) {
  std::vector<Tensor> result;
  for (int64_t i = 0; i < n; ++i)
    result.push_back(values[i].tag == UH_VALUE_TENSOR
                         ? Tensor::share(static_cast<uint64_t>(values[i].i))
                         : Tensor());
  return result;
}
inline int run_backward(void* context, uh_formula_context* ctx, const uh_value* gradients,
                        int64_t n, uh_values* results) {
  return guarded([&] {
    AutogradContext wrapped(ctx);
    for (const Tensor& gradient :
         static_cast<Formula*>(context)->backward(wrapped, tensors_of(gradients, n)))
      add_result(results, gradient);
  });
}
inline int run_setup_context(void* context, uh_formula_context* ctx, const uh_value* args,
                             int64_t n, const uh_value* outputs, int64_t n_outputs) {
  return guarded([&] {
    AutogradContext wrapped(ctx);
    std::vector<Value> inputs;
    for (int64_t i = 0; i < n; ++i) inputs.push_back(Value::share(args[i]));
    static_cast<Formula*>(context)->setup_context(wrapped, inputs, tensors_of(outputs, n_outputs));
  });
}

}  // namespace detail

// The registration interface in the body of UH_LIBRARY or UH_LIBRARY_IMPL.
class Library {
 public:
  Library(uh_library* library, const char* key) : library_(library), key_(key) {}

  // Defines an operator by its schema; with a function it is composite: the operators that it calls
  // are differentiated. A name without a schema gets that of the function's type.
  Library& def(const std::string& schema) {
    detail::check(uh_library_define(library_, schema.c_str()) == 0);
    return *this;
  }
  template <class F>
  Library& def(const std::string& schema, F function) {
    const bool is_name = schema.find('(') == std::string::npos;
    def(is_name ? schema + detail::Signature<F>::schema() : schema);
    return implement(schema.substr(0, schema.find('(')), "CompositeImplicitAutograd",
                     std::move(function));
  }
  // The Python module whose import registers the fake kernels of operators defined from here on.
  Library& set_python_module(const char* module, const char* context = "") {
    detail::check(uh_library_set_python_module(library_, module, context) == 0);
    return *this;
  }
  Library& impl_abstract_pystub(const char* module, const char* context = "") {  // its older name
    return set_python_module(module, context);
  }
  // Registers the kernel of an operator, for the key of the block or for `key`.
  template <class F>
  Library& impl(const std::string& name, F function) {
    return implement(name, key_, std::move(function));
  }
  template <class F>
  Library& impl(const std::string& name, const char* key, F function) {
    return implement(name, key, std::move(function));
  }
  // Registers a gradient formula. After each call `setup_context` saves what `backward` needs;
  // `backward` gets one gradient per result and returns one per argument of the schema, empty for
  // none.
  Library& autograd(const std::string& name, detail::Backward backward,
                    detail::SetupContext setup_context) {
    auto formula = std::make_unique<detail::Formula>(
        detail::Formula{std::move(backward), std::move(setup_context)});
    detail::check(uh_library_autograd(library_, name.c_str(), detail::run_backward,
                                      detail::run_setup_context, formula.release(),
                                      detail::destroy<detail::Formula>,
                                      (name + " (Autograd)").c_str()) == 0);
    return *this;
  }

 private:
  template <class F>
  Library& implement(const std::string& name, const char* key, F function) {
    if (!key)
      throw Error(UH_ERROR_RUNTIME, "impl: no dispatch key; use UH_LIBRARY_IMPL, or name the key");
    const std::string label = name + " (" + key + ")";
    detail::check(uh_library_check_signature(library_, name.c_str(),
                                             detail::Signature<F>::schema().c_str(),
                                             label.c_str()) == 0);
    auto owned = std::make_unique<F>(std::move(function));
    detail::check(uh_library_implement(library_, name.c_str(), key, detail::run_kernel<F>,
                                       static_cast<int64_t>(detail::Signature<F>::kArity),
                                       owned.release(), detail::destroy<F>, label.c_str()) == 0);
    return *this;
  }

  uh_library* library_;
  const char* key_;
};

namespace detail {

// A registration block as a static object: it runs when the library is loaded, and its
// registrations are removed when the library is unloaded.
class LibraryBlock {
 public:
  using Body = void (*)(Library&);
  LibraryBlock(const char* name_space, int kind, const char* key, Body body, const char* location)
      : key_(key),
        body_(body),
        block_(uh_library_block_new(name_space, kind, run, this, location)) {
    check(block_ != nullptr);
  }
  ~LibraryBlock() { uh_library_block_free(block_); }
  LibraryBlock(const LibraryBlock&) = delete;
  LibraryBlock& operator=(const LibraryBlock&) = delete;

 private:
  static int run(void* context, uh_library* library) {
    const auto* self = static_cast<const LibraryBlock*>(context);
    return guarded([&] {
      Library wrapped(library, self->key_);
      self->body_(wrapped);
    });
  }
  const char* key_;
  Body body_;
  uh_library_block* block_;
};

}  // namespace detail
}  // namespace v1
}  // namespace uh

#define UH_DETAIL_JOIN_(a, b) a##b
#define UH_DETAIL_JOIN(a, b) UH_DETAIL_JOIN_(a, b)
#define UH_DETAIL_TEXT_(x) #x
#define UH_DETAIL_TEXT(x) UH_DETAIL_TEXT_(x)
#define UH_DETAIL_BLOCK(ns, kind, key, m, number)                                                  \
  static void UH_DETAIL_JOIN(uh_library_body_, number)(::uh::Library & m);                         \
  static const ::uh::detail::LibraryBlock UH_DETAIL_JOIN(uh_library_block_, number)(               \
      #ns, kind, key, UH_DETAIL_JOIN(uh_library_body_, number),                                    \
      __FILE__ ":" UH_DETAIL_TEXT(__LINE__));                                                      \
  static void UH_DETAIL_JOIN(uh_library_body_, number)([[maybe_unused]] ::uh::Library & m)

// UH_LIBRARY(mine, m) { m.def("twice(Tensor x) -> Tensor"); }: once per namespace.
#define UH_LIBRARY(ns, m) UH_DETAIL_BLOCK(ns, UH_DEFINITIONS, nullptr, m, __COUNTER__)
// The same, any number of times per namespace.
#define UH_LIBRARY_FRAGMENT(ns, m) UH_DETAIL_BLOCK(ns, UH_FRAGMENT, nullptr, m, __COUNTER__)
// UH_LIBRARY_IMPL(mine, CPU, m) { m.impl("twice", &twice); }
#define UH_LIBRARY_IMPL(ns, key, m) UH_DETAIL_BLOCK(ns, UH_IMPLEMENTATIONS, #key, m, __COUNTER__)

#endif
