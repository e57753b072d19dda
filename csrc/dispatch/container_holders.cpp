// Records the references of containers, and frees long chains of containers without recursion.
#include "dispatch/ivalue.h"

namespace uh {
namespace {

void add_items(std::vector<HolderTracker::Reference>& references,
               const std::vector<IValue>& items) {
  for (size_t i = 0; i < items.size(); ++i)
    each_tensor(items[i],
                [&](const Tensor& t) { references.push_back({static_cast<int64_t>(i), &t}); });
}

// A key as Python prints it, shortened if it is long.
std::string text_of_key(const IValue& key) {
  if (const auto* text = key.get_if<std::string>()) return "'" + *text + "'";
  if (const auto* number = key.get_if<int64_t>()) return std::to_string(*number);
  if (const auto* truth = key.get_if<bool>()) return *truth ? "True" : "False";
  if (const auto* number = key.get_if<double>()) return message(*number);
  return "a " + key.type_name();
}

}  // namespace

Object::AttributeName Object::attribute_name = nullptr;

void Container::record_items(events::Holder holder,
                             const std::vector<HolderTracker::Reference>& references) {
  if (!tracker_) {
    if (references.empty()) return;
    if (number_ == 0) number_ = HolderTracker::next_number();
    tracker_ = std::make_unique<HolderTracker>(holder, number_);
  }
  tracker_->update(references);
}

void List::record_items() {
  std::vector<HolderTracker::Reference> references;
  add_items(references, items);
  Container::record_items(events::Holder::kList, references);
}

void Tuple::record_items() {
  std::vector<HolderTracker::Reference> references;
  add_items(references, items);
  Container::record_items(events::Holder::kTuple, references);
}

void Dict::record_items() {
  std::vector<HolderTracker::Reference> references;
  for (const auto& [key, value] : items_) {
    const auto add = [&, &key = key](const Tensor& t) {
      references.push_back({events::intern(text_of_key(key)), &t});
    };
    each_tensor(key, add);
    each_tensor(value, add);
  }
  Container::record_items(events::Holder::kDict, references);
}

// A chain of a million objects would need a million nested destructor calls: each object's slots
// are queued until the outermost destructor has finished with its own.
Object::~Object() {
  thread_local std::vector<IValue>* t_waiting = nullptr;
  std::vector<IValue> own;
  std::vector<IValue>& waiting = t_waiting ? *t_waiting : own;
  for (IValue& slot : slots)
    if (slot.get_if<Ref<Container>>()) waiting.push_back(std::move(slot));
  if (t_waiting || own.empty()) return;
  t_waiting = &own;
  while (!own.empty()) {
    const IValue next = std::move(own.back());
    own.pop_back();
  }
  t_waiting = nullptr;
}

void Object::record_items() {
  if (number_ == 0) number_ = HolderTracker::next_number();
  std::vector<HolderTracker::Reference> references;
  for (size_t i = 0; i < slots.size(); ++i) {
    each_tensor(slots[i], [&](const Tensor& t) {
      // Without a class an Object is a future.
      const std::string description =
          attribute_name ? attribute_name(*this, i, number_) : message("result of future ", number_);
      references.push_back({events::intern(description), &t});
    });
  }
  Container::record_items(events::Holder::kObject, references);
}

}  // namespace uh
