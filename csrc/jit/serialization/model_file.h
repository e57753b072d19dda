// A model in one safetensors file: its tensors under their paths, the rest as JSON in the metadata.
//
// The key "underhood.jit" has the classes with the text of their methods' graphs, the
// functions that these call, the objects with their attributes, and the version of this
// format. Constant tensors of graphs are called CONSTANTS.c0, c1, ... in the text of the
// graphs; a list maps these to names in the file, as several may be one tensor. Loading parses
// graphs and reads the tensors; nothing is executed, and the memory used is bounded by the
// size of the file. Invariant: a loaded model has passed verify(), graph by graph, and every
// attribute has the type that its class declares. If violated: a damaged file crashes the
// interpreter.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/function.h"

namespace uh {

class JsonWriter;

}  // namespace uh

namespace uh::jit {

class SafetensorsReader;

// Version 1, with the number of constants instead of their names, can be read as well.
inline constexpr int64_t kModelVersion = 2;

// `extra`: further bytes, by name. Throws a RuntimeError for a module that cannot be saved (a
// tensor without bytes, an object that contains itself).
void save_model(const IValue& module, const std::string& path,
                const std::map<std::string, std::string>& extra = {});

// A class whose name is in use in this process gets another one, like PyTorch's mangled names.
// Throws a RuntimeError that describes the defect, or if a newer version wrote the file.
IValue load_model(SafetensorsReader& file);
// The extra file of that name, or nullopt.
std::optional<std::string> extra_file(const SafetensorsReader& file, const std::string& name);

// Wraps a function in a module with a forward, the form in which it is saved.
IValue module_of(Function& function);

// Writes the member "attributes" of a class.
void write_attributes(JsonWriter& writer, const ClassType& type);

// The name of a class, or PyTorch's next mangled one if it is in use:
// "__torch__.___torch_mangle_0.Net".
std::string free_class_name(const std::string& name);

// Returns the module with its attributes as constants of its graph and all calls inlined, so that
// everything can be optimised. Attributes named in `preserved` stay, and can be set. Throws a
// RuntimeError if the module is training, or if the graph sets an attribute that would be removed.
IValue freeze(const IValue& module, const std::vector<std::string>& preserved,
              bool optimize_numerics);

}  // namespace uh::jit
