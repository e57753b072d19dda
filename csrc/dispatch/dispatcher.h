// The registry of operators. Libraries, which are entered and removed at run time: library.h.
//
// Note [No static constructors]: operators are entered by an explicit list
// (generated/register.cpp), when the engine is first used. Order of initialisation is then a fact,
// not luck.
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

  // `op` must outlive the process: generated operators are globals.
  void enter(OperatorInfo& op, std::string_view name_space = "aten");
  // The name is free again. `op` itself stays: graphs may still name it.
  void remove(const OperatorInfo& op);
  // Changes whenever an operator is entered or removed: what was derived from all() is then stale.
  uint64_t generation() const;
  // "aten::add.Tensor" or "add.Tensor"; null when there is none.
  OperatorInfo* find(std::string_view name) const;
  std::vector<const OperatorInfo*> all() const;

  // The kernel, at the key of a backend, of every operator that has none there. Note [Fallback].
  void register_fallback(Key key, BoxedFallback fallback, const char* name);
  // The same for the operators that allocate their results and are tagged with one of `tags`.
  void register_fallback(Key key, TagSet tags, BoxedFallback fallback, const char* name);

 private:
  struct Entry;
  struct Fallback {
    Key key;
    BoxedFallback run;
    const char* name;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Fallback> fallbacks_;  // for operators that are entered later

 public:
  Dispatcher();
  ~Dispatcher();
};

}  // namespace uh
