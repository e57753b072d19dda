// The operator call that is running on this thread, tracked only while recording: events refer to
// it.
#pragma once

#include <cstdint>

namespace uh {

// The innermost recorded call of this thread, or 0.
int64_t current_call();
// The last recorded call of this thread that has ended: the one just traced.
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
