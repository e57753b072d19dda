#include "tensor/kept_objects.h"

#include <mutex>
#include <vector>

namespace uh {
namespace {

struct Returned {
  std::mutex lock;
  std::vector<TensorImpl*> tensors;
  void (*notify)() = nullptr;
};
// Never destroyed: static objects of the program may release tensors at its end.
Returned& returned() {
  static auto* list = new Returned;
  return *list;
}

}  // namespace

bool keep_object(TensorImpl* impl) {
  if (impl->use_count() == 1) return false;  // the caller's: no other thread can add one
  impl->set_keeps_object(true);
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kUNWRAP, impl->id(), impl->use_count() - 1);
  impl->release();
  return true;
}

bool take_object(TensorImpl* impl) {
  if (!impl->keeps_object()) return false;
  impl->set_keeps_object(false);
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kWRAP, impl->id(), impl->use_count());
  return true;
}

void TensorImpl::return_to_host() {
  retain();
  Returned& list = returned();
  void (*notify)();
  {
    const std::lock_guard guard(list.lock);
    list.tensors.push_back(this);
    notify = list.notify;
  }
  if (notify) notify();
}

void set_notify_returned(void (*notify)()) {
  const std::lock_guard guard(returned().lock);
  returned().notify = notify;
}

TensorImpl* next_returned() {
  Returned& list = returned();
  const std::lock_guard guard(list.lock);
  if (list.tensors.empty()) return nullptr;
  TensorImpl* impl = list.tensors.back();
  list.tensors.pop_back();
  return impl;
}

}  // namespace uh
