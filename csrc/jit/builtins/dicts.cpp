// Methods of dictionaries. PyTorch has an overload per type of key: `len.Dict_str`.
#include "jit/builtins/register_builtin.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Items = std::vector<IValue>;

[[noreturn]] void no_key(const IValue& key) {
  const bool text = key.get_if<std::string>();
  fail(ErrorKind::kRuntime, "KeyError: ", text ? "'" : "", text_of(key), text ? "'" : "");
}

const IValue& lookup(const Dict& dict, const IValue& key) {
  const IValue* value = dict.find(key);
  if (!value) no_key(key);
  return *value;
}

IValue pair(const Dict::Entry& entry) {
  return make_container<Tuple>(Items{entry.first, entry.second});
}

IValue copied(const Dict& dict) {
  IValue result = make_container<Dict>();
  for (const auto& [key, value] : dict.items()) result.dict()->put(key, value);
  return result;
}

template <class Of>
IValue listed(const Dict& dict, const Of& of) {
  Items items;
  items.reserve(dict.size());
  for (const Dict::Entry& entry : dict.items()) items.push_back(of(entry));
  return new_list(std::move(items));
}

void define_dict_reading() {
  define_each("len.Dict_$(Dict($, t) self) -> int", kKeyTypes,
              boxed<[](Dict& d) { return static_cast<Int>(d.size()); }>, kNeverRaises);
  define_each("__getitem__.Dict_$(Dict($, t) self, $ key) -> t(*)", kKeyTypes,
              boxed<[](Dict& d, const IValue& key) { return IValue(lookup(d, key)); }>);
  define_each("__contains__.$(Dict($, t) dict, $ key) -> bool", kKeyTypes,
              boxed<[](Dict& d, const IValue& key) { return d.find(key) != nullptr; }>);
  define_each("keys.$(Dict($, t) self) -> $[](*)", kKeyTypes, boxed<[](Dict& d) {
                return listed(d, [](const Dict::Entry& entry) { return entry.first; });
              }>);
  define_each("values.$(Dict($, t) self) -> t[](*)", kKeyTypes, boxed<[](Dict& d) {
                return listed(d, [](const Dict::Entry& entry) { return entry.second; });
              }>);
  define_each("items.$(Dict($, t) self) -> (($, t)[])", kKeyTypes,
              boxed<[](Dict& d) { return listed(d, pair); }>);
  define_each("get.$(Dict($, t) self, $ key) -> t(*)?", kKeyTypes,
              boxed<[](Dict& d, const IValue& key) {
                const IValue* value = d.find(key);
                return value ? IValue(*value) : IValue();
              }>);
  define_each("get.default_$(Dict($, t) self, $ key, t default_value) -> t(*)", kKeyTypes,
              boxed<[](Dict& d, const IValue& key, const IValue& other) {
                const IValue* value = d.find(key);
                return IValue(value ? *value : other);
              }>);
  constexpr auto copy = &boxed<[](Dict& d) { return copied(d); }>;
  define_each("copy.Dict_$(Dict($, t)(a) self) -> Dict($, t)", kKeyTypes, copy);
  define_each("dict.Dict_$(Dict($, t)(a) self) -> Dict($, t)", kKeyTypes, copy);
  define_each("dict.$(($, tVal)[] inputs) -> Dict($, tVal)", kKeyTypes, boxed<[](List& l) {
                IValue result = make_container<Dict>();
                for (const IValue& item : l.items) {
                  if (!item.tuple() || item.tuple()->items.size() != 2)
                    wrong_argument(item, "a tuple of a key and a value");
                  result.dict()->put(item.tuple()->items[0], item.tuple()->items[1]);
                }
                return result;
              }>);
  constexpr auto same = &boxed<[](const IValue& a, const IValue& b) { return equal(a, b); }>;
  constexpr auto other = &boxed<[](const IValue& a, const IValue& b) { return !equal(a, b); }>;
  define_each("eq.Dict_$(Dict($, t) a, Dict($, t) b) -> bool", kKeyTypes, same);
  define_each("ne.Dict_$(Dict($, t) a, Dict($, t) b) -> bool", kKeyTypes, other);
}

void define_dict_writing() {
  define_each("_set_item.$(Dict($, t)(a!) l, $(b -> *) idx, t(c -> *) v) -> ()", kKeyTypes,
              boxed<[](Dict& d, const IValue& key, const IValue& value) { d.put(key, value); }>);
  define_each("Delete.Dict_$(Dict($, t)(a!) self, $ key) -> ()", kKeyTypes,
              boxed<[](Dict& d, const IValue& key) {
                if (!d.remove(key)) no_key(key);
              }>);
  define_each("clear.$(Dict($, t)(a!) self) -> ()", kKeyTypes, boxed<[](Dict& d) { d.clear(); }>);
  define_each("pop.Dict_$(Dict($, t)(a!) self, $ key) -> t(*)", kKeyTypes,
              boxed<[](Dict& d, const IValue& key) {
                IValue value = lookup(d, key);
                d.remove(key);
                return value;
              }>);
  define_each("pop.Dict_default_$(Dict($, t)(a!) self, $ key, t default_value) -> t(*)", kKeyTypes,
              boxed<[](Dict& d, const IValue& key, const IValue& other) {
                const IValue* value = d.find(key);
                IValue result = value ? *value : other;
                if (value) d.remove(key);
                return result;
              }>);
  define_each("popitem.$(Dict($, t)(a!) self) -> (($, t))", kKeyTypes, boxed<[](Dict& d) {
                if (d.size() == 0)
                  fail(ErrorKind::kRuntime, "KeyError: 'popitem(): dictionary is empty'");
                IValue last = pair(d.items().back());
                d.remove(last.tuple()->items[0]);
                return last;
              }>);
  define_each("setdefault.$(Dict($, t)(a!) self, $(b -> *) key, t(c -> *) default_value) -> t(*)",
              kKeyTypes, boxed<[](Dict& d, const IValue& key, const IValue& other) {
                if (const IValue* value = d.find(key)) return IValue(*value);
                d.put(key, other);
                return IValue(other);
              }>);
  define_each("update.$(Dict($, t)(a!) self, Dict($, t) to_add) -> ()", kKeyTypes,
              boxed<[](Dict& d, Dict& more) {
                if (&d == &more) return;
                for (const auto& [key, value] : more.items()) d.put(key, value);
              }>);
}

}  // namespace

void define_dicts() {
  define_dict_reading();
  define_dict_writing();
}

}  // namespace uh::jit
