// Operators by name: boxed calls through the C ABI.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/json.h"
#include "base/per_thread.h"
#include "capi/convert.h"
#include "capi/library.h"
#include "dispatch/dispatcher.h"
#include "generated/tags.h"
#include "jit/builtins/builtin.h"
#include "jit/schema_matching/overload.h"
#include "memory/device_registry.h"

namespace uh {

IValue read_value(const uh_value& v) {
  switch (v.tag) {
    case UH_VALUE_NONE: return IValue();
    case UH_VALUE_TENSOR: return take(static_cast<uh_handle>(v.i));
    case UH_VALUE_INT: return v.i;
    case UH_VALUE_FLOAT: return v.d;
    case UH_VALUE_BOOL: return v.i != 0;
    case UH_VALUE_INTS: return to_dims(static_cast<const int64_t*>(v.p), v.i);
    case UH_VALUE_STRING:
      return std::string(static_cast<const char*>(v.p), static_cast<size_t>(v.i));
    case UH_VALUE_TENSORS: return to_tensors(static_cast<const uh_handle*>(v.p), v.i);
    case UH_VALUE_FLOATS: return to_floats(static_cast<const double*>(v.p), v.i);
    case UH_VALUE_COMPLEX: return Scalar(Complex128(v.d, std::bit_cast<double>(v.i)));
    case UH_VALUE_BOX: return Ref<Container>::share(reinterpret_cast<Container*>(v.i));
    case UH_VALUE_DTYPE:
      check_kind(v.i >= -1 && v.i < kDTypeCount, ErrorKind::kType,
                 "boxed call: no dtype has the code ", v.i);
      return static_cast<DType>(v.i);
    case UH_VALUE_DEVICE:
      check_kind(v.i == -1 || (v.i >= 0 && (v.i & 0xFF) < static_cast<int64_t>(kDeviceTypeCount)),
                 ErrorKind::kType, "boxed call: no device has the code ", v.i);
      return Device::of_code(v.i);
    default: fail(ErrorKind::kType, "boxed call: unknown value tag ", v.tag);
  }
}

namespace {

bool is_defined(const Tensor& t) { return static_cast<bool>(t); }

// Throws for None where the schema requires a value: kernels rely on it.
void check_present(const OperatorInfo& op, const Argument& argument, const IValue& value) {
  if (argument.type.is(SchemaKind::kOptional) || argument.has_default()) return;
  const auto* tensor = value.get_if<Tensor>();
  const auto* list = value.get_if<std::vector<Tensor>>();
  const auto* dtype = value.get_if<DType>();
  bool present = !value.is_none();
  if (tensor) present = is_defined(*tensor);
  if (list && argument.type.is_list() && argument.type.element().is(SchemaKind::kTensor))
    present = std::all_of(list->begin(), list->end(), is_defined);
  if (dtype) present = *dtype != DType::kUndefined;
  if (!present) [[unlikely]]
    fail(ErrorKind::kType, op.full_name(), ": argument '", argument.name, "' must be ",
         argument.type.text(), ", got None; schema: ", op.schema_text());
}

// Storage that returned pointers refer to: several values, as a call may return several.
IValue& next_returned() {
  struct Returned {
    std::array<IValue, kReturnedValues> values;
    size_t next = 0;
  };
  Returned& returned = per_thread<Returned>();
  return returned.values[returned.next++ % kReturnedValues];
}

const char* returned(std::string text) {
  IValue& value = next_returned();
  value = std::move(text);
  return value.get_if<std::string>()->c_str();
}

[[noreturn]] void no_operator(const char* name) {
  fail(ErrorKind::kRuntime, "no operator is registered under the name '", name, "'");
}

std::string full_name_of(const char* name) {
  return std::strstr(name, "::") ? name : message("aten::", name);
}

// An operator, or one of PyTorch's overloads that are one operator here ("squeeze.dim"); or null.
OperatorInfo* find_or_null(const char* name) {
  initialise();
  if (OperatorInfo* op = Dispatcher::instance().find(name)) [[likely]]
    return op;
  const std::string full_name = full_name_of(name);
  for (const jit::Overload* overload : jit::overloads_named(full_name.substr(0, full_name.find('.'))))
    if (message("aten::", overload->full_name()) == full_name)
      return const_cast<jit::Overload*>(overload);
  return nullptr;
}

OperatorInfo& find(const char* name) {
  if (OperatorInfo* op = find_or_null(name)) [[likely]]
    return *op;
  no_operator(name);
}

// The same, or one of the compiler's builtins, which only graphs call ("to.dtype"). Operators come
// first: the builtin "hypot" takes numbers.
const OperatorInfo& find_in_graphs(const char* name) {
  if (const OperatorInfo* op = find_or_null(name)) return *op;
  if (const jit::Builtin* builtin = jit::find_builtin(full_name_of(name))) return *builtin;
  no_operator(name);
}

}  // namespace

uh_value write_value(IValue value) {
  if (auto* t = value.get_if<Tensor>()) {
    if (!*t) return {};
    return {UH_VALUE_TENSOR, static_cast<int64_t>(give(std::move(*t))), 0, nullptr};
  }
  if (const auto* i = value.get_if<int64_t>()) return {UH_VALUE_INT, *i, 0, nullptr};
  if (const auto* d = value.get_if<double>()) return {UH_VALUE_FLOAT, 0, *d, nullptr};
  if (const auto* b = value.get_if<bool>()) return {UH_VALUE_BOOL, *b, 0, nullptr};
  if (const auto* s = value.get_if<Scalar>()) {
    if (s->is_float()) return {UH_VALUE_FLOAT, 0, s->to_double(), nullptr};
    if (s->is_complex()) {
      return {UH_VALUE_COMPLEX, std::bit_cast<int64_t>(s->imag()), s->to_complex().re, nullptr};
    }
    return {s->kind() == Scalar::Kind::kBool ? UH_VALUE_BOOL : UH_VALUE_INT, s->to_int(), 0,
            nullptr};
  }
  if (const auto* list = value.get_if<std::vector<Tensor>>()) {
    return {UH_VALUE_TENSORS, static_cast<int64_t>(list->size()), 0, give_list(*list)};
  }
  if (const auto* dtype = value.get_if<DType>())
    return {UH_VALUE_DTYPE, static_cast<int64_t>(*dtype), 0, nullptr};
  if (const auto* device = value.get_if<Device>())
    return {UH_VALUE_DEVICE, device->code(), 0, nullptr};
  if (const auto* box = value.get_if<Ref<Container>>())
    return {UH_VALUE_BOX, reinterpret_cast<int64_t>(Ref<Container>(*box).leak()), 0, nullptr};
  IValue& last = next_returned();
  last = std::move(value);
  if (const auto* dims = last.get_if<Dims>()) return {UH_VALUE_INTS, dims->ndim(), 0, dims->data()};
  if (const auto* floats = last.get_if<std::vector<double>>())
    return {UH_VALUE_FLOATS, static_cast<int64_t>(floats->size()), 0, floats->data()};
  if (const auto* text = last.get_if<std::string>())
    return {UH_VALUE_STRING, static_cast<int64_t>(text->size()), 0, text->data()};
  return {UH_VALUE_NONE, 0, 0, nullptr};
}

int call_boxed(OperatorInfo& op, const uh_value* args, int64_t n, uh_value* ret_results,
               uh_value (*write)(IValue)) {
  const auto& arguments = op.schema().arguments;
  if (static_cast<size_t>(n) != arguments.size()) [[unlikely]]
    fail(ErrorKind::kType, op.full_name(), ": expected ", arguments.size(), " arguments, got ", n,
         "; schema: ", op.schema_text());
  if (op.schema().returns.size() > 8) [[unlikely]]
    fail(ErrorKind::kRuntime, op.full_name(), ": has ", op.schema().returns.size(),
         " results; the C ABI carries 8");
  Stack stack;
  stack.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    stack.push_back(read_value(args[stack.size()]));
    check_present(op, argument, stack.back());
  }
  op.call_boxed(stack);
  for (size_t i = 0; i < stack.size(); ++i) ret_results[i] = write(std::move(stack[i]));
  return static_cast<int>(stack.size());
}

}  // namespace uh

using namespace uh;  // NOLINT: this file is nothing but calls into uh

int64_t uh_op_count(void) {
  initialise();
  return static_cast<int64_t>(Dispatcher::instance().all().size());
}
const char* uh_op_schema(int64_t i) {
  const auto ops = Dispatcher::instance().all();
  return i >= 0 && i < static_cast<int64_t>(ops.size()) ? ops[static_cast<size_t>(i)]->schema_text()
                                                        : "";
}
const char* uh_op_name(int64_t i) {
  return guard(static_cast<const char*>(nullptr), [&] {
    const auto ops = Dispatcher::instance().all();
    check(i >= 0 && i < static_cast<int64_t>(ops.size()), "no operator has the number ", i);
    const OperatorInfo& op = *ops[static_cast<size_t>(i)];
    return returned(message(op.name_space(), "::", op.full_name()));
  });
}
const char* uh_op_schema_json(const char* name) {
  return guard(static_cast<const char*>(nullptr), [&] {
    const OperatorInfo& op = find_in_graphs(name);
    JsonWriter writer;
    write_json(writer.begin_object().key("schema"), op.schema());
    writer.key("tags").begin_array();
    for (size_t tag = 0; tag < std::size(kTagNames); ++tag)
      if (op.has_tag(static_cast<Tag>(tag))) writer.value(kTagNames[tag]);
    return returned(writer.end_array().end_object().take());
  });
}
const char* uh_schema_json(const char* schema) {
  return guard(static_cast<const char*>(nullptr), [&] {
    JsonWriter writer;
    write_json(writer, *parse_schema(schema));
    return returned(writer.take());
  });
}
namespace {

// Backend keys of the device types that have a backend.
KeySet active_backend_keys() {
  KeySet keys;
  for (const DeviceType type : device_types()) keys = keys | key_of(type);
  return keys;
}

}  // namespace

const char* uh_op_kernel(const char* name, int key) {
  return guard(static_cast<const char*>(nullptr), [&] {
    check(key >= 0 && key < kKeyCount, "no dispatch key has the number ", key);
    const auto k = static_cast<Key>(key);
    const std::string_view kernel = jit::combined(find(name)).kernel_name(k);
    const bool reachable = !(kBackendKeys - active_backend_keys()).has(k);
    return kernel.empty() || !reachable ? "" : kernel.data();
  });
}
int uh_call_boxed(const char* name, const uh_value* args, int64_t n, uh_value* ret_results) {
  return guard(-1, [&] { return call_boxed(find(name), args, n, ret_results, write_value); }, name);
}
