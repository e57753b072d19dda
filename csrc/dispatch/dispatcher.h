// The registry of operators. library.h has libraries, which are registered and removed at run time.
//
// Note [No static constructors]: operators are registered by an explicit list
// (generated/register.cpp) when the engine is first used. The order of initialisation is therefore
// fixed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/operator.h"

namespace uh {

class Dispatcher {
 public:
  static Dispatcher& instance();

  // Registers `op`, which must outlive the process: generated operators are globals.
  void enter(OperatorInfo& op, std::string_view name_space = "aten");
  // Frees the name. `op` itself is not destroyed: graphs may still refer to it.
  void remove(const OperatorInfo& op);
  // Changes whenever an operator is registered or removed, which invalidates caches of all().
  uint64_t generation() const;
  // Accepts "aten::add.Tensor" or "add.Tensor"; returns null if there is no such operator.
  OperatorInfo* find(std::string_view name) const;
  std::vector<const OperatorInfo*> all() const;

  // Registers a kernel for a backend key, for every operator without one there. Note [Fallback].
  void register_fallback(Key key, BoxedFallback fallback, const char* name);
  // The same for the operators that allocate their results and have one of `tags`.
  void register_fallback(Key key, TagSet tags, BoxedFallback fallback, const char* name);

 private:
  struct Entry;
  struct Fallback {
    Key key;
    BoxedFallback run;
    const char* name;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Fallback> fallbacks_;  // for operators that are registered later

 public:
  Dispatcher();
  ~Dispatcher();
};

}  // namespace uh
