// FunctionSchema: the signature of an operator as typed data.
//
// Argument types, defaults, alias annotations and results. Declared operators have constants that
// codegen/schema_tables.py writes; parse_schema() reads those registered at run time from their
// text into the same structure. Invariant: a FunctionSchema is never changed, and the data that
// its views refer to lives as long as the operator. If violated: matching a call reads freed
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace uh {

class IValue;
class JsonWriter;

enum class SchemaKind : uint8_t {
  kTensor,
  kScalar,
  kInt,
  kFloat,
  kComplex,
  kBool,
  kString,
  kScalarType,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator,
  kAny,
  kNone,
  kAnyEnum,
  kAnyClass,
  kVariadic,  // `...`: any number of further values
  kVariable,  // a type variable, `t`
  kNamed,     // any other type of the JIT, by its text: `__torch__.Cell`
  kOptional,
  kList,
  kTuple,
  kDict,
  kFuture,
};

struct SchemaType {
  SchemaKind kind;
  int32_t fixed_size = 0;             // of int[2], which also accepts one int; 0: any length
  std::string_view name = {};         // of a type variable or a type of the JIT
  const SchemaType* first = nullptr;  // inner types, contiguous
  size_t count = 0;

  bool is(SchemaKind k) const { return kind == k; }
  std::span<const SchemaType> inner() const { return {first, count}; }
  const SchemaType& element() const { return *first; }
  // Tensor for Tensor?, int[2] for int[2]?; any other type unchanged.
  const SchemaType& without_optional() const { return is(SchemaKind::kOptional) ? *first : *this; }
  // The innermost kind: int for int[2]?.
  SchemaKind base() const {
    return is(SchemaKind::kOptional) || is(SchemaKind::kList) ? first->base() : kind;
  }
  bool is_list() const { return without_optional().is(SchemaKind::kList); }
  std::string text() const;  // "int[]?", without the size
};

// The default of an argument. A number that fills a list is stored as the whole list.
struct DefaultValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kInts,
    kFloats,
    kLiteral,  // of a compiled function: Python text without an IValue
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string_view string = {};
  std::span<const int64_t> integers = {};
  std::span<const double> reals = {};

  IValue value() const;
};

// Alias annotation (a!), (a), (a|b), (*): which values may share memory, and which are written.
struct AliasInfo {
  std::string_view set = {};  // "" for none
  bool is_write = false;
  bool enters_container = false;  // (a -> *): stored in a container, not written
};

struct Argument {
  const SchemaType& type;
  std::string_view name = {};
  const DefaultValue* default_value = nullptr;  // null where the argument is required
  AliasInfo alias_info = {};
  bool keyword_only = false;
  bool takes_number = false;  // a Tensor operand that also accepts a number

  bool has_default() const { return default_value != nullptr; }
  bool is_write() const { return alias_info.is_write; }
  // True if the argument shares memory with a result and is not written.
  bool is_view() const {
    return !alias_info.set.empty() && !alias_info.is_write && !alias_info.enters_container;
  }
};

struct OperatorName {
  std::string_view name;           // "add"
  std::string_view overload_name;  // "Tensor", or ""
};

struct FunctionSchema {
  const char* text;
  OperatorName operator_name;
  std::span<const Argument> arguments = {};
  std::span<const Argument> returns = {};

  std::string_view name() const { return operator_name.name; }
  std::string_view overload_name() const { return operator_name.overload_name; }
  std::string full_name() const;
  bool is_mutable() const;  // writes an argument
  bool is_out() const;      // writes a keyword-only argument: an out= form
  bool is_view() const;     // a result shares memory with an argument
  // The index of an argument; the number of arguments if none has that name.
  size_t index_of(std::string_view argument) const;
};

// Parses a schema at run time; the result owns the memory that its views refer to. Throws a
// RuntimeError that points at the first invalid position.
std::shared_ptr<const FunctionSchema> parse_schema(std::string_view text);

// Writes an object with name, overload_name, arguments and returns, for engine/function_schema.py.
void write_json(JsonWriter& writer, const FunctionSchema& schema);

}  // namespace uh
