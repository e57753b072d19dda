// A pybind11 caster between uh::Tensor and engine.Tensor, without copies.
//
// An argument shares the TensorImpl of the Python object; a result becomes its Python object, an
// existing one if there is one; an empty Tensor becomes None. The engine's errors become the
// corresponding Python exceptions.
#ifndef UNDERHOOD_PYTHON_HPP
#define UNDERHOOD_PYTHON_HPP

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "capi/underhood_autograd.hpp"

namespace uh {
inline namespace v1 {
namespace detail {

inline pybind11::object python(const char* module, const char* name) {
  return pybind11::module_::import(module).attr(name);
}

inline void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const pybind11::object exception =
        python("engine._native.errors", "exception_of")(error.kind(), error.what());
    PyErr_SetObject(pybind11::type::handle_of(exception).ptr(), exception.ptr());
  }
}
// Registered per extension, when it is loaded; not needed in a program without Python.
inline bool register_translator() {
  if (!Py_IsInitialized()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  pybind11::register_local_exception_translator(translate);
  PyGILState_Release(state);
  return true;
}
inline const bool g_translator = register_translator();

}  // namespace detail
}  // namespace v1
}  // namespace uh

namespace pybind11::detail {

template <>
struct type_caster<uh::Tensor> {
  PYBIND11_TYPE_CASTER(uh::Tensor, const_name("engine.Tensor"));

  bool load(handle source, bool) {
    static const handle type = uh::detail::python("engine.tensor", "Tensor").release();
    if (!isinstance(source, type)) return false;
    value = uh::Tensor::share(source.attr("_h").cast<uint64_t>());
    return true;
  }
  static handle cast(const uh::Tensor& tensor, return_value_policy, handle) {
    if (!tensor) return none().release();
    static const handle wrap = uh::detail::python("engine.tensor", "wrap").release();
    return wrap(uh_retain(tensor.handle())).release();
  }
};

template <>
struct type_caster<uh::Scalar> {
  // a number, without a value until it is loaded
  static constexpr auto name = const_name("Union[bool, int, float, complex]");
  template <class T>
  using cast_op_type = uh::Scalar;
  operator uh::Scalar() const { return value; }
  uh::Scalar value = 0;

  bool load(handle source, bool) {
    if (PyBool_Check(source.ptr()))
      value = source.cast<bool>();
    else if (PyLong_Check(source.ptr()))
      value = source.cast<int64_t>();
    else if (PyFloat_Check(source.ptr()))
      value = source.cast<double>();
    else if (PyComplex_Check(source.ptr()))
      value = std::complex<double>(PyComplex_RealAsDouble(source.ptr()),
                                   PyComplex_ImagAsDouble(source.ptr()));
    else
      return false;
    return true;
  }
  static handle cast(const uh::Scalar& scalar, return_value_policy, handle) {
    return std::visit(
        [](const auto& number) -> handle {
          if constexpr (std::is_same_v<std::decay_t<decltype(number)>, std::complex<double>>)
            return PyComplex_FromDoubles(number.real(), number.imag());
          else
            return pybind11::cast(number).release();
        },
        scalar.number());
  }
};

template <>
struct type_caster<uh::ScalarType> {
  PYBIND11_TYPE_CASTER(uh::ScalarType, const_name("engine.dtype"));

  bool load(handle source, bool) {
    static const handle type = uh::detail::python("engine.dtypes", "dtype").release();
    if (!isinstance(source, type)) return false;
    value = static_cast<uh::ScalarType>(source.attr("code").cast<int>());
    return true;
  }
  static handle cast(uh::ScalarType dtype, return_value_policy, handle) {
    const object all = uh::detail::python("engine.dtypes", "DTYPES");
    return object(all[int_(static_cast<int>(dtype))]).release();
  }
};

}  // namespace pybind11::detail

#endif
