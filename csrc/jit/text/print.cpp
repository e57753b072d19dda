#include "jit/text/print.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "jit/function.h"
#include "ops/copy/element.h"

namespace uh::jit {
namespace {

std::string number(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  if (std::abs(d) < 1e10 && std::trunc(d) == d) {
    const std::string sign = std::signbit(d) ? "-" : "";
    return sign + std::to_string(static_cast<int64_t>(std::abs(d))) + ".";
  }
  char text[40];  // not printf: its decimal point depends on the locale
  return {text, std::to_chars(text, text + sizeof text, d, std::chars_format::general, 17).ptr};
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\v': out += "\\v"; break;
      case '"': out += "\\\""; break;
      case '\'': out += "\\'"; break;
      case '\\': out += "\\\\"; break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
          out += c;
          break;
        }
        char code[8];
        std::snprintf(code, sizeof code, "\\%03o", byte);
        out += code;
      }
    }
  }
  return out + '"';
}

template <class Items, class Print>
std::string bracketed(const Items& items, char open, char close, const Print& each) {
  std::string out(1, open);
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    out += each(item);
  }
  return out + close;
}

std::string print_tensor(const Tensor& t, const Print& options) {
  if (!t) return "None";
  if (options.constants) {
    options.constants->push_back(IValue(t));
    return "CONSTANTS.c" + std::to_string(options.constants->size() - 1);
  }
  if (t.numel() != 1 || t.is_meta()) return "<Tensor>";
  const Scalar value = read_scalar(t);
  return "{" + (value.is_float() ? number_of(value.to_double()) : print(IValue(value))) + "}";
}

std::string print_attribute(const Attribute& attribute, const Print& options) {
  if (attribute.graph) return "<Graph>";
  if (!attribute.types.empty())
    return bracketed(attribute.types, '[', ']', [](const TypeRef& t) { return t->text(); });
  return print(attribute.value, options);
}

class Printer {
 public:
  Printer(const Print& options) : options_(options) {}

  std::string graph(const Graph& g) {
    // In the order of use: each subgraph follows the nodes that use it.
    write_graph("graph", g, 0);
    for (size_t i = 0; i < subgraphs_.size(); ++i) {
      out_ += "with " + subgraphs_[i].name + " = ";
      write_graph("graph", *subgraphs_[i].graph, 0);
    }
    return std::move(out_);
  }

  std::string line(const Node& node) {
    write_line(node);
    return std::move(out_);
  }

 private:
  void write_graph(const char* head, const Graph& g, size_t indent) {
    out_ += head;
    out_ += "(";
    for (size_t i = 0; i < g.inputs().size(); ++i) {
      if (i > 0) out_ += ",\n      ";
      write_declaration(*g.inputs()[i]);
    }
    out_ += "):";
    out_ += "\n";
    write_nodes(*g.block(), indent + 1);
    out_ += "  return (";
    write_values(g.outputs());
    out_ += ")\n";
  }

  void write_nodes(const Block& block, size_t indent) {
    for (const Node* node : block.nodes()) {
      out_.append(2 * indent, ' ');
      write_line(*node);
      out_ += "\n";
      for (size_t i = 0; i < node->blocks().size(); ++i) {
        const Block& inner = *node->block(i);
        out_.append(2 * indent + 2, ' ');
        out_ += "block" + std::to_string(i) + "(";
        for (size_t k = 0; k < inner.params().size(); ++k) {
          if (k > 0) out_ += ", ";
          write_declaration(*inner.params()[k]);
        }
        out_ += "):\n";
        write_nodes(inner, indent + 2);
        out_.append(2 * indent + 4, ' ');
        out_ += "-> (";
        write_values(inner.returns());
        out_ += ")\n";
      }
    }
  }

  void write_line(const Node& node) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (i > 0) out_ += ", ";
      write_declaration(*node.output(i));
    }
    out_ += " = ";
    const Attribute* sub = node.attribute("Subgraph");
    if (sub && sub->graph) {
      const std::string name = node.kind().text() + "_" + std::to_string(subgraphs_.size());
      out_ += name;
      subgraphs_.push_back({name, sub->graph.get()});
    } else {
      out_ += node.kind().text();
    }
    write_attributes(node);
    out_ += "(";
    write_values(node.inputs());
    out_ += ")";
    if (!node.scope().empty()) out_ += ", scope: " + node.scope();
    // Files keep all source positions.
    if (options_.with_source && node.span() && (node.span().is_printed || options_.constants))
      out_ += " # " + node.span().text();
  }

  void write_attributes(const Node& node) {
    std::string list;
    for (const auto& [name, attribute] : node.attributes()) {
      if (attribute.graph) continue;
      // None is a constant without a value, as in PyTorch.
      if (node.is("prim::Constant") && name == "value" && attribute.value.is_none()) continue;
      std::string literal = typed_number(node, attribute);
      if (literal.empty()) literal = print_attribute(attribute, options_);
      if (literal == "[]" && node.is("prim::Constant") && node.outputs().size() == 1)
        literal = "annotate(" + node.output()->type()->annotation() + ", [])";
      list += (list.empty() ? "" : ", ") + name + "=" + literal;
    }
    if (!list.empty()) out_ += "[" + list + "]";
  }

  // Prints {1} for a constant whose type is float; returns "" for any other.
  std::string typed_number(const Node& node, const Attribute& attribute) const {
    const Tensor* t = attribute.value.get_if<Tensor>();
    if (!node.is("prim::Constant") || node.outputs().size() != 1 || !t || !*t) return "";
    const bool wrapped = t->impl()->wrapped_number();
    if ((options_.constants && !wrapped) || t->numel() != 1 || t->is_meta()) return "";
    const Type& type = *node.output()->type();
    if (!is_floating(t->dtype()) || !type.is(TypeKind::kTensor) || type.facts().dtype != t->dtype())
      return options_.constants ? print_tensor(*t, Print()) : "";
    std::string number = number_of(read_scalar(*t).to_double());
    if (number.back() == '.') number.pop_back();
    return "{" + number + "}";
  }

  void write_declaration(const Value& value) {
    out_ += "%" + value.name() + " : " + value.type()->text();
  }

  void write_values(const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += "%" + values[i]->name();
    }
  }

  const Print& options_;
  std::string out_;
  struct Subgraph {
    std::string name;  // "prim::FusionGroup_0"
    const Graph* graph;
  };
  std::vector<Subgraph> subgraphs_;
};

}  // namespace

std::string number_of(double value) { return number(value); }

std::string print(const IValue& value, const Print& options) {
  const auto inner = [&](const IValue& v) { return print(v, options); };
  if (const auto* t = value.get_if<Tensor>()) return print_tensor(*t, options);
  if (const auto* i = value.get_if<int64_t>()) return std::to_string(*i);
  if (const auto* d = value.get_if<double>()) return number(*d);
  if (const auto* b = value.get_if<bool>()) return *b ? "1" : "0";
  if (const auto* s = value.get_if<std::string>()) return quoted(*s);
  if (const auto* d = value.get_if<Device>()) return quoted(std::string(name(*d)));
  if (const auto* t = value.get_if<DType>()) return std::to_string(pytorch_code(*t));
  if (const auto* s = value.get_if<Scalar>()) {
    if (s->is_complex())
      return "(" + number(s->to_complex().re) + ", " + number(s->to_complex().im) + ")";
    if (s->is_float()) return number(s->to_double());
    return std::to_string(s->to_int());
  }
  if (const auto* dims = value.get_if<Dims>())
    return bracketed(*dims, '[', ']', [](int64_t n) { return std::to_string(n); });
  if (const auto* list = value.get_if<std::vector<double>>())
    return bracketed(*list, '[', ']', number);
  if (const auto* list = value.get_if<std::vector<Tensor>>())
    return bracketed(*list, '[', ']', [&](const Tensor& t) { return print_tensor(t, options); });
  if (const List* list = value.list()) return bracketed(list->items, '[', ']', inner);
  if (const Tuple* tuple = value.tuple()) return bracketed(tuple->items, '(', ')', inner);
  if (const Dict* dict = value.dict())
    return bracketed(dict->items(), '{', '}', [&](const Dict::Entry& entry) {
      return inner(entry.first) + ": " + inner(entry.second);
    });
  if (enum_of(value)) return member_text(value);
  if (const Object* object = value.object())
    return "<" + static_cast<const Type*>(object->type.get())->text() + ">";
  return "None";
}

std::string print(const Attribute& attribute, const Print& options) {
  return print_attribute(attribute, options);
}

std::string print(const Graph& graph, const Print& options) {
  return Printer(options).graph(graph);
}

std::string print(const Node& node, bool with_source) {
  const Print options{.with_source = with_source};
  return Printer(options).line(node);
}

std::string Graph::text(bool with_source) const {
  return print(*this, Print{.with_source = with_source});
}

}  // namespace uh::jit
