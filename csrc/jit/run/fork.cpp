#include "jit/run/fork.h"

#include <utility>

#include "jit/builtins/futures.h"
#include "jit/function.h"

namespace uh::jit {

Fork::Fork(GraphRef subgraph, TypeRef future)
    : op_(*this),
      function_(make_ref<Function>("<forked function>", std::move(subgraph))),
      future_(std::move(future)) {}

Fork::~Fork() = default;

void Fork::run(Stack& stack) const {
  Stack arguments = std::move(stack);
  stack.clear();
  stack.push_back(start_future(Ref<RefCounted>(future_), [&] {
    function_->call(arguments);
    return std::move(arguments.back());
  }));
}

}  // namespace uh::jit
