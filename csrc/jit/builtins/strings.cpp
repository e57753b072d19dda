// Methods of Python's str: slicing, joining, searching, padding.
#include <algorithm>

#include "jit/builtins/register_builtin.h"
#include "jit/builtins/utf8.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Items = std::vector<IValue>;
constexpr size_t kNone = std::string::npos;
constexpr Int kMaxCharacters = Int{1} << 31;

// The range to search: [start, end) in bytes. As in PyTorch, a negative end counts from one past
// the last: -1 is all.
struct Region {
  size_t from, to;
  bool valid;
  std::string_view of(StringArg text) const {
    return std::string_view(text).substr(from, to - from);
  }
};
Region region(StringArg text, Int start, Int end) {
  const Int n = characters::count(text);
  const Int first = start < 0 ? std::max(start + n, Int{0}) : start;
  const Int last = std::clamp(end < 0 ? end + n + 1 : end, Int{0}, n);
  if (first > last) return {0, 0, false};
  return {characters::byte_of(text, first), characters::byte_of(text, last), true};
}

Int find(StringArg text, StringArg substring, Int start, Int end, bool last) {
  const Region at = region(text, start, end);
  if (!at.valid) return -1;
  const std::string_view part = at.of(text);
  const size_t position = last ? part.rfind(substring) : part.find(substring);
  return position == kNone ? -1 : characters::index_of(text, at.from + position);
}

Int index(StringArg text, StringArg substring, Int start, Int end, bool last) {
  const Int result = find(text, substring, start, end, last);
  if (result < 0) fail(ErrorKind::kValue, "substring not found");
  return result;
}

Int count(StringArg text, StringArg substring, Int start, Int end) {
  const Region at = region(text, start, end);
  if (!at.valid) return 0;
  const std::string_view part = at.of(text);
  if (substring.empty()) return characters::count(part) + 1;
  Int n = 0;
  for (size_t position = part.find(substring); position != kNone;
       position = part.find(substring, position + substring.size()))
    ++n;
  return n;
}

std::string replaced(StringArg text, StringArg old, StringArg by, Int limit) {
  std::string result;
  size_t at = 0;
  for (Int n = 0; limit < 0 || n < limit; ++n) {
    const size_t position = text.find(old, at);
    if (position == kNone) break;
    result += text.substr(at, position - at) + by;
    at = position + old.size();
    if (!old.empty()) continue;
    if (at >= text.size()) return result;
    const size_t next = at + characters::byte_of(std::string_view(text).substr(at), 1);
    result += text.substr(at, next - at);
    at = next;
    if (at == text.size()) {  // the empty string also matches at the end
      if (limit < 0 || n + 1 < limit) result += by;
      return result;
    }
  }
  return result + text.substr(at);
}

IValue split_at_spaces(StringArg text, Int limit) {
  Items parts;
  size_t at = 0;
  const auto space = [&](size_t i) { return characters::is_space(text[i]); };
  for (;;) {
    while (at < text.size() && space(at)) ++at;
    if (at == text.size()) break;
    size_t end = at;
    while (end < text.size() && !space(end)) ++end;
    if (limit >= 0 && static_cast<Int>(parts.size()) == limit) end = text.size();
    parts.emplace_back(text.substr(at, end - at));
    at = end;
    if (limit >= 0 && static_cast<Int>(parts.size()) > limit) break;
  }
  return new_list(std::move(parts));
}

IValue split(StringArg text, StringArg separator, Int limit) {
  if (separator.empty()) fail(ErrorKind::kValue, "empty separator");
  Items parts;
  size_t at = 0;
  while (limit < 0 || static_cast<Int>(parts.size()) < limit) {
    const size_t position = text.find(separator, at);
    if (position == kNone) break;
    parts.emplace_back(text.substr(at, position - at));
    at = position + separator.size();
  }
  parts.emplace_back(text.substr(at));
  return new_list(std::move(parts));
}

IValue split_from_the_end(StringArg text, StringArg separator, Int limit) {
  if (separator.empty()) fail(ErrorKind::kValue, "empty separator");
  Items parts;
  size_t end = text.size();
  while ((limit < 0 || static_cast<Int>(parts.size()) < limit) && end >= separator.size()) {
    const size_t position = text.rfind(separator, end - separator.size());
    if (position == kNone) break;
    parts.emplace_back(text.substr(position + separator.size(), end - position - separator.size()));
    end = position;
  }
  parts.emplace_back(text.substr(0, end));
  std::reverse(parts.begin(), parts.end());
  return new_list(std::move(parts));
}

IValue lines(StringArg text, bool keep_ends) {
  Items parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find_first_of("\n\r\v\f\x1c\x1d\x1e", at), text.size());
    const size_t after =
        end + (text.compare(end, 2, "\r\n") == 0 ? 2 : (end < text.size() ? 1 : 0));
    parts.emplace_back(text.substr(at, (keep_ends ? after : end) - at));
    at = after;
  }
  return new_list(std::move(parts));
}

std::string stripped(StringArg text, StringArg chars, bool left, bool right) {
  const size_t from = left ? text.find_first_not_of(chars) : 0;
  if (from == kNone || text.empty()) return "";
  const size_t last = right ? text.find_last_not_of(chars) : text.size() - 1;
  return last == kNone ? "" : text.substr(from, last - from + 1);
}

std::string joined_by(StringArg separator, const List& list) {
  std::string all;
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i) all += separator;
    const auto* text = list.items[i].get_if<std::string>();
    if (!text) wrong_argument(list.items[i], "str");
    all += *text;
  }
  return all;
}

std::string times(StringArg text, Int n) {
  if (n > 0 && static_cast<Int>(text.size()) > kMaxCharacters / n)
    fail(ErrorKind::kMemory, "str: too many characters");
  std::string all;
  for (Int i = 0; i < n && !text.empty(); ++i) all += text;
  return all;
}

// Pads with `fill` on both sides, or on one, to `width` characters.
std::string padded(StringArg text, Int width, StringArg fill, char align) {
  if (characters::count(fill) != 1)
    fail(ErrorKind::kType, "The fill character must be exactly one character long");
  const Int n = characters::count(text);
  if (width <= n) return text;
  const Int missing = width - n;
  Int left = align == '>' ? missing : 0;
  if (align == '^') left = missing / 2 + (missing & width & 1);  // centred as in CPython
  return times(fill, left) + text + times(fill, missing - left);
}

std::string zero_filled(StringArg text, Int width) {
  const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const Int n = characters::count(text);
  if (width <= n) return text;
  return text.substr(0, sign) + times("0", width - n) + text.substr(sign);
}

std::string tabs_expanded(StringArg text, Int size) {
  std::string result;
  Int column = 0;
  for (const char c : text) {
    if (c == '\t') {
      const Int n = size > 0 ? size - column % size : 0;
      result += times(" ", n);
      column += n;
      continue;
    }
    result += c;
    column = c == '\n' || c == '\r' ? 0 : column + !characters::continues(c);
  }
  return result;
}

using Three = std::tuple<std::string, std::string, std::string>;
Three partition(StringArg text, StringArg separator, bool last) {
  if (separator.empty()) fail(ErrorKind::kValue, "empty separator");
  const size_t at = last ? text.rfind(separator) : text.find(separator);
  if (at == kNone) return last ? Three("", "", text) : Three(text, "", "");
  return {text.substr(0, at), separator, text.substr(at + separator.size())};
}

std::string item(StringArg text, Int index) {
  const Int n = characters::count(text);
  const Int at = index < 0 ? index + n : index;
  if (at < 0 || at >= n) fail(ErrorKind::kIndex, "string index out of range");
  const size_t from = characters::byte_of(text, at);
  return text.substr(from, characters::byte_of(std::string_view(text).substr(from), 1));
}

std::string sliced(StringArg text, std::optional<Int> start, std::optional<Int> stop, Int step) {
  const Slice slice = slice_of(characters::count(text), start, stop, step);
  if (slice.step == 1) {
    const size_t from = characters::byte_of(text, slice.begin);
    return text.substr(from, characters::byte_of(std::string_view(text).substr(from), slice.count));
  }
  std::string result;
  for (Int i = 0; i < slice.count; ++i) result += item(text, slice.begin + i * slice.step);
  return result;
}

void define_searching() {
  define("find(str self, str substr, int start=0, int end=-1) -> int",
         boxed<[](StringArg s, StringArg w, Int from, Int to) {
           return find(s, w, from, to, false);
         }>);
  define(
      "rfind(str self, str substr, int start=0, int end=-1) -> int",
      boxed<[](StringArg s, StringArg w, Int from, Int to) { return find(s, w, from, to, true); }>);
  define("index.str(str self, str substr, int start=0, int end=-1) -> int",
         boxed<[](StringArg s, StringArg w, Int from, Int to) {
           return index(s, w, from, to, false);
         }>);
  define("rindex(str self, str substr, int start=0, int end=-1) -> int",
         boxed<[](StringArg s, StringArg w, Int from, Int to) {
           return index(s, w, from, to, true);
         }>);
  define("count(str self, str substr, int start=0, int end=-1) -> int",
         boxed<[](StringArg s, StringArg w, Int from, Int to) { return count(s, w, from, to); }>);
  define("startswith(str self, str substr, int start=0, int end=-1) -> bool",
         boxed<[](StringArg s, StringArg w, Int from, Int to) {
           const Region at = region(s, from, to);
           return at.valid && at.of(s).starts_with(w);
         }>);
  define("endswith(str self, str substr, int start=0, int end=-1) -> bool",
         boxed<[](StringArg s, StringArg w, Int from, Int to) {
           const Region at = region(s, from, to);
           return at.valid && at.of(s).ends_with(w);
         }>);
  define("__contains__.str_str(str l, str item) -> bool",
         boxed<[](StringArg s, StringArg w) { return s.find(w) != kNone; }>);
}

void define_cutting() {
  define("split.str(str self, str? separator=None, int max=-1) -> str[]",
         boxed<[](StringArg s, const IValue& separator, Int limit) {
           if (separator.is_none()) return split_at_spaces(s, limit);
           return split(s, from_value<std::string>(separator), limit);
         }>);
  define(
      "rsplit(str self, str separator=\" \", int max=-1) -> str[]",
      boxed<[](StringArg s, StringArg by, Int limit) { return split_from_the_end(s, by, limit); }>);
  define("splitlines(str self, bool keepends=False) -> str[]",
         boxed<[](StringArg s, bool keep) { return lines(s, keep); }>);
  define("strip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
         boxed<[](StringArg s, StringArg chars) { return stripped(s, chars, true, true); }>);
  define("lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
         boxed<[](StringArg s, StringArg chars) { return stripped(s, chars, true, false); }>);
  define("rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
         boxed<[](StringArg s, StringArg chars) { return stripped(s, chars, false, true); }>);
  define("partition(str self, str separator) -> (str, str, str)",
         boxed<[](StringArg s, StringArg by) { return partition(s, by, false); }>);
  define("rpartition(str self, str separator) -> (str, str, str)",
         boxed<[](StringArg s, StringArg by) { return partition(s, by, true); }>);
  constexpr auto single_item = &boxed<[](StringArg s, Int at) { return item(s, at); }>;
  define("__getitem__.str(str s, int index) -> str", single_item);
  define("prim::StringIndex(str string, int index) -> str", single_item);
  define("slice.str(str string, int? start=None, int? end=None, int step=1) -> str",
         boxed<[](StringArg s, std::optional<Int> start, std::optional<Int> stop, Int step) {
           return sliced(s, start, stop, step);
         }>);
}

void define_string_building() {
  define("add.str(str a, str b) -> str", boxed<[](StringArg a, StringArg b) { return a + b; }>);
  define("mul.str_int(str a, int b) -> str", boxed<[](StringArg s, Int n) { return times(s, n); }>,
         kLengthFromNumber);
  define("mul.int_str(int a, str b) -> str", boxed<[](Int n, StringArg s) { return times(s, n); }>,
         kLengthFromNumber);
  define("join(str self, str[] values) -> str",
         boxed<[](StringArg s, List& l) { return joined_by(s, l); }>);
  define("replace(str self, str old, str new, int max=-1) -> str",
         boxed<[](StringArg s, StringArg a, StringArg b, Int limit) {
           return replaced(s, a, b, limit);
         }>);
  define("center(str self, int width, str fillchar=\" \") -> str",
         boxed<[](StringArg s, Int width, StringArg fill) { return padded(s, width, fill, '^'); }>,
         kLengthFromNumber);
  define("ljust(str self, int width, str fillchar=\" \") -> str",
         boxed<[](StringArg s, Int width, StringArg fill) { return padded(s, width, fill, '<'); }>,
         kLengthFromNumber);
  define("rjust(str self, int width, str fillchar=\" \") -> str",
         boxed<[](StringArg s, Int width, StringArg fill) { return padded(s, width, fill, '>'); }>,
         kLengthFromNumber);
  define("zfill(str self, int width) -> str",
         boxed<[](StringArg s, Int width) { return zero_filled(s, width); }>, kLengthFromNumber);
  define("expandtabs(str self, int tabsize=8) -> str",
         boxed<[](StringArg s, Int size) { return tabs_expanded(s, size); }>, kLengthFromNumber);
}

}  // namespace

void define_texts() {
  define("len.str(str s) -> int", boxed<[](StringArg s) { return characters::count(s); }>,
         kNeverRaises);
  define_searching();
  define_cutting();
  define_string_building();
}

}  // namespace uh::jit
