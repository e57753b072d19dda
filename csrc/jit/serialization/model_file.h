// A model in one safetensors file: its tensors under their paths, all else as JSON in the metadata.
//
// What: the key "underhood.jit" holds the classes with the text of their methods' graphs, the
// functions that these call, the objects with their attributes, and the version of this form.
// Tensors that are constants of graphs have the names CONSTANTS.c0, c1, ... in the text of the
// graphs; the form lists under which names the file has them, for several may be one tensor.
// Loading parses graphs and reads the tensors; nothing is executed, and the memory used is bounded
// by the size of the file. Invariant: what load() accepts has passed verify(), graph by graph, and
// every attribute is of the type that its class says. If violated: a damaged file crashes the
// interpreter.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/function.h"

namespace uh::jit {

class SafetensorsReader;

// Version 1 had the number of constants instead of their names; it is read as well.
inline constexpr int64_t kModelVersion = 2;

// `extra`: bytes that go along, by name. Throws a RuntimeError for a module that holds what has no
// form in a file (a tensor without bytes, an object that contains itself).
void save_model(const IValue& module, const std::string& path,
                const std::map<std::string, std::string>& extra = {});

// A class whose name is taken in this process gets another one, as PyTorch's mangled names.
// Throws a RuntimeError that says what is wrong with the file, or that a newer version wrote it.
IValue load_model(SafetensorsReader& file);
// The extra file of that name; nothing if there is none.
std::optional<std::string> extra_file(const SafetensorsReader& file, const std::string& name);

// A function as a module with a forward: how it is saved.
IValue module_of(Function& function);

// The name of a class, or PyTorch's next mangled one where there is a class of that name already:
// "__torch__.___torch_mangle_0.Net".
std::string free_class_name(const std::string& name);

// The module with its attributes as constants of its graph, which has then no calls either: what is
// left to optimise is all there. Attributes named in `preserved` stay, and can be set. Throws a
// RuntimeError while the module trains, and where the graph sets an attribute that would go.
IValue freeze(const IValue& module, const std::vector<std::string>& preserved,
              bool optimize_numerics);

}  // namespace uh::jit
