// The operator call that is running on this thread. Only kept while recording: events name their
// call.
#pragma once

#include <cstdint>

namespace uh {

// The innermost recorded call of this thread, or 0.
int64_t current_call();
// The recorded call of this thread that ended last: what has just been traced.
int64_t last_call();

// Makes `call` the current one for the lifetime of the scope.
class CallScope {
 public:
  explicit CallScope(int64_t call);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  int64_t previous_;
};

}  // namespace uh
