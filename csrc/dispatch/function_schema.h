// FunctionSchema: the signature of an operator as typed data.
//
// What: argument types, defaults, alias annotations and results. Declared operators have theirs as
// constants that codegen/schema_tables.py writes; those registered at run time are read from their
// text by parse_schema(), to the same structure.
// Invariant: a FunctionSchema is never changed, and what its views lead into lives as long as the
// operator. If violated: matching a call reads freed memory.
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
  kVariadic,  // `...`: as many more values as a call has
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
  int32_t fixed_size = 0;             // of int[2]: one int may stand for both; 0: any length
  std::string_view name = {};         // of a type variable or a type of the JIT
  const SchemaType* first = nullptr;  // inner types, one after the other
  size_t count = 0;

  bool is(SchemaKind k) const { return kind == k; }
  std::span<const SchemaType> inner() const { return {first, count}; }
  const SchemaType& element() const { return *first; }
  // Tensor of Tensor?, int[2] of int[2]?; any other type as it is.
  const SchemaType& without_optional() const { return is(SchemaKind::kOptional) ? *first : *this; }
  // The innermost kind: int of int[2]?.
  SchemaKind base() const {
    return is(SchemaKind::kOptional) || is(SchemaKind::kList) ? first->base() : kind;
  }
  bool is_list() const { return without_optional().is(SchemaKind::kList); }
  std::string text() const;  // "int[]?", without the size
};

// The default of an argument. A list that a single number stands for is written out.
struct DefaultValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kInts,
    kFloats,
    kLiteral,  // of a compiled function: Python text that no IValue here stands for
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string_view string = {};
  std::span<const int64_t> integers = {};
  std::span<const double> reals = {};

  IValue value() const;
};

// (a!), (a), (a|b), (*): which arguments and results may share memory, and which are written.
struct AliasInfo {
  std::string_view set = {};  // "" for none
  bool is_write = false;
  bool enters_container = false;  // (a -> *): it goes into a container and is itself left alone
};

struct Argument {
  const SchemaType& type;
  std::string_view name = {};
  const DefaultValue* default_value = nullptr;  // null where the argument is required
  AliasInfo alias_info = {};
  bool keyword_only = false;
  bool takes_number = false;  // a Tensor operand for which a number will do

  bool has_default() const { return default_value != nullptr; }
  bool is_write() const { return alias_info.is_write; }
  // Shares memory with a result, and is not written.
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
  // The position of an argument; the number of arguments if no argument has that name.
  size_t index_of(std::string_view argument) const;
};

// Reads a schema at run time; the memory that it leads into goes with it. Throws a RuntimeError
// that points at the place where the text stops making sense.
std::shared_ptr<const FunctionSchema> parse_schema(std::string_view text);

// An object of name, overload_name, arguments and returns, as engine/function_schema.py reads it.
void write_json(JsonWriter& writer, const FunctionSchema& schema);

}  // namespace uh
