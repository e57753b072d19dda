#include "recipes.h"

namespace uh::test {
namespace {

constexpr const char* kRecipes =
#include "recipes.inc"
    ;

std::map<std::string, std::vector<Recipe>> read_recipes() {
  std::map<std::string, std::vector<Recipe>> all;
  for (const std::string& line : split(kRecipes, '\n')) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    Recipe recipe;
    for (const std::string& part : split(line.substr(colon + 2), ' ')) {
      const auto equals = part.find('=');
      recipe[part.substr(0, equals)] = part.substr(equals + 1);
    }
    for (const std::string& name : split(line.substr(0, colon), ','))
      all[name.substr(name.find_first_not_of(' '))].push_back(recipe);
  }
  return all;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

const std::vector<Recipe>& recipes_for(const std::string& full_name) {
  static const auto all = read_recipes();
  static const std::vector<Recipe> none;
  const auto dot = full_name.find('.');
  std::string base = full_name.substr(0, dot);
  std::string functional = base;
  if (functional.size() > 1 && functional.back() == '_') functional.pop_back();
  const std::string overload = dot == std::string::npos ? "" : full_name.substr(dot);
  // Overload names of out= forms: "gather.out", "scatter.src_out", "quantile.scalar_out".
  const bool writes = overload.ends_with("_out");
  const std::string read = writes ? overload.substr(0, overload.size() - 4) : overload;
  for (const std::string& name :
       {full_name, functional + overload, base + read, base, functional}) {
    if (const auto it = all.find(name); it != all.end()) return it->second;
  }
  return none;
}

}  // namespace uh::test
