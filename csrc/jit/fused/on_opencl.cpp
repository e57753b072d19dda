#include "jit/fused/on_opencl.h"

#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "backend/opencl/copy.h"
#include "backend/opencl/pointwise.h"
#include "backend/opencl/rows.h"

namespace uh::jit::fused {
namespace {

using opencl::Defines;
using opencl::DeviceExpression;

// A number in OpenCL C, bit by bit.
std::string literal(const opencl::Number& number) {
  const std::string type = number.type;
  const auto bits = [&](size_t at, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, number.value.data() + at, size);
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "0x%" PRIx64 "%s", value, size == 8 ? "ul" : "u");
    return std::string(text.data());
  };
  const bool wide = type.starts_with("double");
  const auto real = [&](size_t i) {
    return wide ? "as_double(" + bits(8 * i, 8) + ")" : "as_float(" + bits(4 * i, 4) + ")";
  };
  if (type == "float" || type == "double") return real(0);
  if (type.ends_with('2')) return "(" + type + ")(" + real(0) + ", " + real(1) + ")";
  return "(" + type + ")" + bits(0, number.size);
}

// `text` with some of its words replaced.
template <class F>
std::string with_words(std::string_view text, const F& replacement) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::string result;
  while (!text.empty()) {
    size_t n = 0;
    while (n < text.size() && in_word(text[n])) ++n;
    if (n == 0)
      result += text[n++];
    else
      result += replacement(text.substr(0, n));
    text.remove_prefix(n);
  }
  return result;
}

class Printer {
 public:
  Printer(const FusedKernel& program, const opencl::OpenclDevice& device)
      : p_(program), device_(device) {}

  // Nothing where the device does not compute a step.
  std::optional<OpenclText> print() {
    OpenclText text{.name = "fused", .functions = {}, .defines = {}};
    std::string body;
    for (const Step& step : p_.steps) {
      if (!step.live) continue;
      const auto value = step.op ? call(step) : converted(step);
      if (!value) return std::nullopt;
      if (step.op) text.name += std::string("_") + step.op->op->name;
      body += "  const " + type(step.result) + " " + word(step.result) + " = " +
              rounded(item(step.result).kind.dtype, *value) + ";\n";
    }
    for (const Output& output : p_.outputs)
      if (output.fold) text.name += std::string("_") + output.reduction->name;
    std::string parameters;
    const auto add = [&](const std::string& parameter) {
      parameters += (parameters.empty() ? "" : ", ") + parameter;
    };
    for (const int id : p_.inputs) {
      if (item(id).last_use >= 0) add(type(id) + " " + word(id));
    }
    for (size_t i = 0; i < p_.numbers.size(); ++i) {
      const Number& number = p_.numbers[i];
      if (number.launch_index < 0) continue;
      const opencl::Number example = opencl::number_of(number.dtype, Scalar(0));
      add(std::string(example.type) + " n" + std::to_string(i));
    }
    std::string result_type = "void";
    if (p_.outputs.size() == 1) {
      result_type = type(p_.outputs[0].item);
      body += "  return " + word(p_.outputs[0].item) + ";\n";
    } else {
      for (size_t i = 0; i < p_.outputs.size(); ++i) {
        const std::string pointer = "r" + std::to_string(i);
        add(type(p_.outputs[i].item) + " *" + pointer);
        body += "  *" + pointer + " = " + word(p_.outputs[i].item) + ";\n";
      }
    }
    text.functions = functions_ + result_type + " apply(" + parameters + ") {\n" + body + "}\n";
    if (doubles_) text.defines = Defines().text("NEEDS_DOUBLE", "1").lines();
    return text;
  }

 private:
  const Item& item(int id) const { return p_.items[static_cast<size_t>(id)]; }
  std::string type(int id) const { return Defines::computed_type(item(id).kind.dtype); }

  // An item in the text of `apply`.
  std::string word(int id) const {
    const Item& i = item(id);
    const std::string index = std::to_string(i.index);
    if (i.is == Item::ItemKind::kInput) return "x" + index;
    if (i.is == Item::ItemKind::kStep) return "v" + index;
    const Number& number = p_.numbers[static_cast<size_t>(i.index)];
    if (number.launch_index >= 0) return "n" + index;
    return literal(opencl::number_of(number.dtype, number.value));
  }

  // A value as memory would give it back.
  std::string rounded(DType dtype, const std::string& value) {
    if (!is_reduced_floating(dtype)) return value;
    if (dtype == DType::kBFloat16) return "load_bfloat16(store_bfloat16(" + value + "))";
    add_function(
        "float round_half(float x) {\n  ushort bits;\n  vstore_half_rte(x, 0, (half *)&bits);\n"
        "  return vload_half(0, (const half *)&bits);\n}\n");
    return "round_half(" + value + ")";
  }

  std::optional<std::string> call(const Step& step) {
    const auto expression = opencl::expression_of(*step.op->op, step.dtype, device_);
    if (!expression) return std::nullopt;
    doubles_ = doubles_ || expression->text->doubles || opencl::needs_double(step.dtype);
    std::string name = step.op->name;
    std::replace(name.begin(), name.end(), '.', '_');
    name += mark(step.dtype);
    for (const std::string_view text : expression->functions())
      add_function(own_words(*expression, text, name));

    std::string list;
    for (size_t k = 0; k < step.arity; ++k) list += (k ? ", " : "") + word(step.operands[k]);
    std::vector<opencl::Number> parameters;
    opencl::add_parameters(parameters, *expression, *step.params);
    for (const opencl::Number& parameter : parameters) list += ", " + literal(parameter);
    if (expression->text->zero_division) list += ", 0";  // floats: nothing is counted
    return name + "(" + list + ")";
  }

  std::optional<std::string> converted(const Step& step) {
    const DType to = item(step.result).kind.dtype, from = item(step.operands[0]).kind.dtype;
    if (!opencl::has_dtype(device_.device, to) || !opencl::has_dtype(device_.device, from))
      return std::nullopt;
    doubles_ = doubles_ || opencl::needs_double(to) || opencl::needs_double(from);
    const std::string name = "to" + mark(to) + mark(from);
    add_function(with_words(opencl::conversion(to, from), [&](std::string_view w) {
      return w == "O"       ? std::string(Defines::computed_type(to))
             : w == "A0"    ? std::string(Defines::computed_type(from))
             : w == "apply" ? name
                            : std::string(w);
    }));
    return name + "(" + word(step.operands[0]) + ")";
  }

  static std::string mark(DType dtype) { return "_" + std::string(uh::name(dtype)); }

  // The functions of an expression with the dtype in their names: a program may have several.
  static std::string own_words(const DeviceExpression& expression, std::string_view text,
                               const std::string& apply) {
    const auto& types = expression.types();
    return with_words(text, [&](std::string_view w) -> std::string {
      if (w == "apply") return apply;
      if (const auto it = types.find(w); it != types.end()) return it->second;
      const bool own = w.starts_with("m_") || w.starts_with("complex_");
      return own ? std::string(w) + mark(expression.dtype) : std::string(w);
    });
  }

  void add_function(const std::string& text) {
    if (printed_.insert(text).second) functions_ += text;
  }

  const FusedKernel& p_;
  const opencl::OpenclDevice& device_;
  std::string functions_;
  std::unordered_set<std::string> printed_;
  bool doubles_ = false;
};

opencl::Elementwise make(const void* context) {
  const auto& text = *static_cast<const OpenclText*>(context);
  return {.name = text.name.c_str(), .functions = text.functions, .defines = text.defines};
}

// The same text is the same object, which lives as long as kernels do.
const OpenclText* interned(OpenclText text) {
  static std::mutex lock;
  static auto* all = new std::unordered_map<std::string, OpenclText>;  // leaked
  const std::lock_guard guard(lock);
  const std::string key = text.name + "\n" + text.functions;
  return &all->try_emplace(key, std::move(text)).first->second;
}

}  // namespace

const OpenclText* FusedKernel::opencl_text(Device device) const {
  const std::lock_guard guard(mutex_);
  for (const auto& [known, text] : opencl_texts_) {
    if (known == device) return text;
  }
  auto text = Printer(*this, opencl::device_of(device)).print();
  opencl_texts_.emplace_back(device, text ? interned(std::move(*text)) : nullptr);
  return opencl_texts_.back().second;
}

void run_on_opencl(const FusedKernel& program, const Dims& sizes, std::span<const Tensor> inputs,
                   std::span<Tensor> outputs, std::span<const Scalar> numbers) {
  const Device device = inputs[0].device();
  const OpenclText* const text = program.opencl_text(device);
  check_kind(text != nullptr, ErrorKind::kNotImplemented, "FusedKernel: ", name(device),
             " does not compute every step");
  std::vector<Tensor> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (program.items[static_cast<size_t>(program.inputs[i])].last_use >= 0)
      operands.push_back(inputs[i]);
  }
  std::vector<opencl::Number> values;
  for (const Number& number : program.numbers) {
    if (number.launch_index >= 0)
      values.push_back(
          opencl::number_of(number.dtype, numbers[static_cast<size_t>(number.launch_index)]));
  }
  if (!program.reduces()) {
    opencl::run_elementwise({.operation = text,
                             .compute = program.kind(program.outputs[0].item).dtype,
                             .make = make,
                             .context = text,
                             .results = outputs,
                             .operands = operands,
                             .numbers = values,
                             .order = {}});
    return;
  }
  std::vector<opencl::RowResult> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = program.outputs[i];
    results.push_back({outputs[i], program.kind(output.item).dtype, output.reduction});
  }
  const bool all = program.reduced_dims == Builder::kAllDims;
  opencl::run_rows({.operation = text,
                    .make = make,
                    .context = text,
                    .sizes = sizes,
                    .folded = all ? sizes.size() : static_cast<size_t>(program.reduced_dims),
                    .results = results,
                    .operands = operands,
                    .numbers = values});
}

}  // namespace uh::jit::fused
