#include <algorithm>

#include "jit/function.h"
#include "jit/run/interpreter.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

constexpr int kLinesAround = 2;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines{""};
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

// The name of the function that a source text defines: the node may be inlined into another one.
std::string defined_in(const std::string& text) {
  size_t at = text.find("def ");
  if (at == std::string::npos) return "";
  at += 4;
  const size_t end = text.find('(', at);
  return end == std::string::npos ? "" : text.substr(at, end - at);
}

}  // namespace

std::string highlight(const Span& span, const std::string& function) {
  const std::string defined = defined_in(span.source->text);
  std::string text = message("  File \"", span.source->file, "\", line ", span.line, ", in ",
                             defined.empty() ? function : defined, "\n");
  const std::vector<std::string> lines = lines_of(span.source->text);
  const int count = static_cast<int>(lines.size());
  const int at = span.line - span.source->first_line;
  if (at < 0 || at >= count) return text;
  for (int i = std::max(0, at - kLinesAround); i <= std::min(count - 1, at + kLinesAround); ++i) {
    const std::string& line = lines[static_cast<size_t>(i)];
    text += line + "\n";
    if (i != at) continue;
    const auto begin = static_cast<size_t>(std::max(0, span.column));
    const size_t end = span.end_line == span.line
                           ? static_cast<size_t>(std::max(0, span.end_column))
                           : line.size();
    const size_t width = end > begin ? end - begin : 1;
    text += std::string(begin, ' ') + std::string(width, '~') + " <--- HERE\n";
  }
  return text;
}

std::string class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kValue: return "ValueError";
    case ErrorKind::kType: return "TypeError";
    case ErrorKind::kIndex: return "IndexError";
    case ErrorKind::kNotImplemented: return "NotImplementedError";
    case ErrorKind::kBuffer: return "BufferError";
    case ErrorKind::kInternal: return "SystemError";
    case ErrorKind::kLinAlg: return "LinAlgError";
    default: return "RuntimeError";
  }
}

std::string traceback(const std::vector<Frame>& frames, const Node* failed) {
  std::string text = "Traceback of TorchScript (most recent call last):\n";
  const auto add = [&](const Frame& frame) {
    const Node* node = failed && &frame == &frames.back() ? failed : frame.code->node(frame.pc);
    if (node && node->span()) {
      // Inlined code has no frame; its span refers to the span of the call.
      std::vector<const Span*> positions;
      for (const Span* at = &node->span(); at; at = at->caller ? &at->caller->span : nullptr)
        positions.push_back(at);
      for (size_t i = positions.size(); i-- > 0;)
        text += highlight(*positions[i], frame.code->name());
    } else {
      text += "  In " + frame.code->name() + (node ? ": " + print(*node) : "") + "\n";
    }
  };
  // For a deep recursion only both ends are printed.
  constexpr size_t kEnd = 20;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames.size() > 2 * kEnd && i == kEnd) {
      text += message("  ... ", frames.size() - 2 * kEnd, " frames more ...\n");
      i = frames.size() - kEnd;
    }
    add(frames[i]);
  }
  return text;
}

}  // namespace uh::jit
