#include "jit/builtins/futures.h"

#include <exception>

#include "jit/builtins/register_builtin.h"

namespace uh::jit {
namespace {

struct Ending final : RefCounted {
  std::exception_ptr error;
};

}  // namespace

IValue start_future(Ref<RefCounted> type, const std::function<IValue()>& call) {
  Ref<Ending> ending = make_ref<Ending>();
  Ending& result = *ending;
  IValue future = make_container<Object>(std::move(type), Ref<RefCounted>(std::move(ending)), 1);
  try {
    future.object()->slots[0] = call();
  } catch (const Error&) {
    result.error = std::current_exception();
  }
  future.object()->written();
  return future;
}

const IValue& waited(const IValue& future) {
  const Object* object = future.object();
  const auto* result = object ? dynamic_cast<const Ending*>(object->methods.get()) : nullptr;
  if (!result) wrong_argument(future, "Future");
  if (result->error) std::rethrow_exception(result->error);
  return object->slots[0];
}

void define_futures() {
  // Has an effect, as it throws the call's error: neither removed nor moved.
  define("wait(Future(t) self) -> t", boxed<[](const IValue& self) { return waited(self); }>,
         kEffect);
}

}  // namespace uh::jit
