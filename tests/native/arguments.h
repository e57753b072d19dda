// Arguments: random values for one call of an operator. Most fit its schema and each other, some
// only the schema, and a few neither.
#pragma once

#include <string>
#include <vector>

#include "dispatch/function_schema.h"
#include "recipes.h"
#include "scene.h"

namespace uh::test {

class Arguments {
 public:
  Arguments(const FunctionSchema& schema, Random& random);

  const uh_value* data() const { return values_.data(); }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  std::string text() const;
  const std::vector<uh_handle>& leaves() const { return scene_.leaves; }

 private:
  uh_value cooked(const Argument& argument, const std::string& spec);
  uh_value fitting(const Argument& argument);
  uh_value anything();
  uh_value default_value(const Argument& argument);

  uh_value any_tensor(const Argument& argument);
  uh_value cooked_tensor(const Argument& argument, const std::string& spec);
  uh_value any_ints(const Argument& argument);
  uh_value any_string(const Argument& argument);
  uh_value any_scalar();
  int64_t any_int(const Argument& argument);
  double any_float(const Argument& argument);
  int64_t evaluated(const std::string& expression);
  Sizes evaluated_list(const std::string& text);

  const FunctionSchema& schema_;
  Random& random_;
  Scene scene_;
  std::vector<uh_value> values_;
};

}  // namespace uh::test
