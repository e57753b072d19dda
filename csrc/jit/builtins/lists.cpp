// Methods of lists, with Python's semantics. Generic over the element type t.
#include <algorithm>

#include "jit/builtins/register_builtin.h"
#include "jit/builtins/utf8.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Items = std::vector<IValue>;

Int length(const Items& items) { return static_cast<Int>(items.size()); }

// The position of an index, which counts from the end if negative.
size_t position_of(const Items& items, Int index, const char* outside = "list index out of range") {
  const Int at = index < 0 ? index + length(items) : index;
  if (at < 0 || at >= length(items)) fail(ErrorKind::kIndex, outside);
  return static_cast<size_t>(at);
}

std::ptrdiff_t step_to(size_t at) { return static_cast<std::ptrdiff_t>(at); }

bool same_item(const IValue& a, const IValue& b) {
  const auto* x = a.get_if<Tensor>();
  const auto* y = b.get_if<Tensor>();
  return x && y ? x->is_same(*y) || tensors_equal(*x, *y) : equal(a, b);
}

Items::const_iterator find(const Items& items, const IValue& expected) {
  return std::find_if(items.begin(), items.end(),
                      [&](const IValue& item) { return same_item(item, expected); });
}

IValue repeated(const List& list, Int n) {
  const Int limit = Int{1} << 32;
  if (n > 0 && length(list.items) > limit / n) fail(ErrorKind::kMemory, "list: too many elements");
  Items items;
  if (list.items.empty()) return new_list(std::move(items));
  for (Int i = 0; i < n; ++i) items.insert(items.end(), list.items.begin(), list.items.end());
  return new_list(std::move(items));
}

IValue joined_lists(const List& a, const List& b) {
  Items items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return new_list(std::move(items));
}

void extend(List& self, const List& other) {
  const size_t n = other.items.size();  // before the call: a list may extend itself
  self.items.reserve(self.items.size() + n);
  for (size_t i = 0; i < n; ++i) self.items.push_back(other.items[i]);
  self.written();
}

IValue sliced(const List& list, std::optional<Int> start, std::optional<Int> stop, Int step) {
  const Slice slice = slice_of(length(list.items), start, stop, step);
  Items items;
  items.reserve(static_cast<size_t>(slice.count));
  for (Int i = 0; i < slice.count; ++i)
    items.push_back(list.items[static_cast<size_t>(slice.begin + i * slice.step)]);
  return new_list(std::move(items));
}

// Merge sort by the class's __lt__, which is user code: it may be inconsistent, and may write to
// the list. Therefore sorts a copy and checks every position before reading it.
Items merged(Items items, bool reverse) {
  const size_t n = items.size();
  Items other(n);
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t from = 0; from < n; from += 2 * width) {
      const size_t middle = std::min(from + width, n), end = std::min(from + 2 * width, n);
      size_t left = from, right = middle;
      for (size_t at = from; at < end; ++at) {
        const bool later =
            left == middle || (right < end && (reverse ? less(items[left], items[right])
                                                       : less(items[right], items[left])));
        other[at] = items[later ? right++ : left++];
      }
    }
    items.swap(other);
  }
  return items;
}

void sort_list(List& list, bool reverse) {
  if (!list.items.empty() && list.items[0].object()) {
    list.items = merged(list.items, reverse);
    list.written();
    return;
  }
  std::stable_sort(list.items.begin(), list.items.end(), [&](const IValue& a, const IValue& b) {
    return reverse ? less(b, a) : less(a, b);
  });
  list.written();
}

IValue taken_out(List& list, Int index) {
  if (list.items.empty()) fail(ErrorKind::kIndex, "pop from empty list");
  const size_t at = position_of(list.items, index, "pop index out of range");
  IValue item = std::move(list.items[at]);
  list.items.erase(list.items.begin() + step_to(at));
  list.written();
  return item;
}

void define_list_reading() {
  define("len.t(t[] a) -> int", boxed<[](List& l) { return length(l.items); }>, kNeverRaises);
  define("__getitem__.t(t[](a) list, int idx) -> t(*)",
         boxed<[](List& l, Int index) { return IValue(l.items[position_of(l.items, index)]); }>);
  define("select.t(t[](a) list, int idx) -> t(*)",
         boxed<[](List& l, Int index) { return IValue(l.items[position_of(l.items, index)]); }>);
  define("slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
         boxed<[](List& l, std::optional<Int> start, std::optional<Int> stop, Int step) {
           return sliced(l, start, stop, step);
         }>);
  constexpr auto has =
      &boxed<[](List& l, const IValue& item) { return find(l.items, item) != l.items.end(); }>;
  define_each("__contains__.$_list($[] l, $ item) -> bool",
              {"int", "float", "bool", "str", "Tensor"}, has);
  constexpr auto count = &boxed<[](List& l, const IValue& item) {
    return static_cast<Int>(std::count_if(
        l.items.begin(), l.items.end(), [&](const IValue& each) { return same_item(each, item); }));
  }>;
  define_each("count.$($[] self, $ el) -> int", {"int", "float", "bool", "str", "Tensor"}, count);
  constexpr auto index = &boxed<[](List& l, const IValue& item) {
    const auto it = find(l.items, item);
    if (it == l.items.end()) fail(ErrorKind::kValue, text_of(item), " is not in list");
    return static_cast<Int>(it - l.items.begin());
  }>;
  define_each("index.list_$($[] self, $ el) -> int", {"int", "float", "bool", "str", "Tensor"},
              index);
}

void define_list_building() {
  define("add.t(t[] a, t[] b) -> t[]", boxed<[](List& a, List& b) { return joined_lists(a, b); }>);
  define("mul.left_t(t[] l, int n) -> t[]", boxed<[](List& l, Int n) { return repeated(l, n); }>,
         kLengthFromNumber);
  define("mul.right_(int n, t[] l) -> t[]", boxed<[](Int n, List& l) { return repeated(l, n); }>,
         kLengthFromNumber);
  constexpr auto copy = &boxed<[](List& l) { return new_list(l.items); }>;
  define("copy.t(t[](a) self) -> t[]", copy);
  define("list.t(t[] l) -> t[]", copy);
  define("list(str t) -> str[]", boxed<[](StringArg text) {
           Items items;
           for (size_t at = 0, next = 0; at < text.size(); at = next) {
             next = at + characters::byte_of(std::string_view(text).substr(at), 1);
             items.emplace_back(text.substr(at, next - at));
           }
           return new_list(std::move(items));
         }>);
  constexpr auto sorted = &boxed<[](List& l) {
    List result(l.items);
    sort_list(result, false);
    return new_list(std::move(result.items));
  }>;
  define_each("sorted.$($[](a) input) -> $[]", {"int", "float", "bool", "str", "Tensor"}, sorted);
  define("sorted.any(t[](a) self) -> t[]", sorted);
  define("prim::rangelist(int n) -> int[]", boxed<[](Int n) {
           Items items;
           for (Int i = 0; i < n; ++i) items.emplace_back(i);
           return new_list(std::move(items));
         }>,
         kLengthFromNumber);
}

void define_list_writing() {
  define("append.t(t[](a!) self, t(c -> *) el) -> t[](a!)",
         boxed<[](const IValue& list, const IValue& item) {
           if (!list.list()) wrong_argument(list, "list");
           list.list()->items.push_back(item);
           list.list()->written();
           return IValue(list);
         }>);
  define("extend.t(t[](a!) self, t[] other) -> ()",
         boxed<[](List& self, List& other) { extend(self, other); }>);
  define("add_.t(t[](a!) self, t[] b) -> t[](a!)", boxed<[](const IValue& self, List& other) {
           if (!self.list()) wrong_argument(self, "list");
           extend(*self.list(), other);
           return IValue(self);
         }>);
  define("mul_.t(t[](a!) l, int n) -> t[](a!)", boxed<[](const IValue& list, Int n) {
           if (!list.list()) wrong_argument(list, "list");
           list.list()->items = repeated(*list.list(), n).list()->items;
           list.list()->written();
           return IValue(list);
         }>);
  define("insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()",
         boxed<[](List& l, Int index, const IValue& item) {
           const Int n = length(l.items);
           const Int at = std::clamp(index < 0 ? index + n : index, Int{0}, n);
           l.items.insert(l.items.begin() + at, item);
           l.written();
         }>);
  define("pop.t(t[](a!) self, int idx=-1) -> t(*)",
         boxed<[](List& l, Int index) { return taken_out(l, index); }>);
  define("clear.t(t[](a!) self) -> ()", boxed<[](List& l) {
           l.items.clear();
           l.written();
         }>);
  define("reverse.t(t[](a!) self) -> ()", boxed<[](List& l) {
           std::reverse(l.items.begin(), l.items.end());
           l.written();
         }>);
  define("_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)",
         boxed<[](const IValue& list, Int index, const IValue& item) {
           if (!list.list()) wrong_argument(list, "list");
           Items& items = list.list()->items;
           items[position_of(items, index, "list assignment index out of range")] = item;
           list.list()->written();
           return IValue(list);
         }>);
  define("Delete.t(t[](a!) self, int idx) -> ()", boxed<[](List& l, Int index) {
           const size_t at = position_of(l.items, index, "list assignment index out of range");
           l.items.erase(l.items.begin() + step_to(at));
           l.written();
         }>);
  constexpr auto remove = &boxed<[](List& l, const IValue& item) {
    const auto it = find(l.items, item);
    if (it == l.items.end()) fail(ErrorKind::kValue, "list.remove(x): x not in list");
    l.items.erase(it);
    l.written();
  }>;
  define_each("remove.$($[](a!) self, $ el) -> ()", {"int", "float", "bool", "str", "Tensor"},
              remove);
  constexpr auto sort_it = &boxed<[](List& l, bool reverse) { sort_list(l, reverse); }>;
  define_each("sort.$($[](a!) self, bool reverse=False) -> ()",
              {"int", "float", "bool", "str", "Tensor"}, sort_it);
  define("sort.any(t[](a!) self, bool reverse=False) -> ()", sort_it);
}

}  // namespace

Slice slice_of(int64_t n, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
  if (step == 0) fail(ErrorKind::kValue, "slice step cannot be zero");
  const bool up = (step > 0);
  const int64_t low = up ? 0 : -1, high = up ? n : n - 1;
  const auto clamp = [&](std::optional<int64_t> at, int64_t missing) {
    if (!at) return missing;
    return std::clamp(*at < 0 ? *at + n : *at, low, high);
  };
  const int64_t from = clamp(start, up ? low : high);
  const int64_t to = clamp(stop, up ? high : low);
  const int64_t way = up ? to - from : from - to;
  if (way <= 0) return {0, 0, step};
  const uint64_t stride = up ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return {from, static_cast<int64_t>((static_cast<uint64_t>(way) - 1) / stride + 1), step};
}

void define_lists() {
  define_list_reading();
  define_list_building();
  define_list_writing();
}

}  // namespace uh::jit
