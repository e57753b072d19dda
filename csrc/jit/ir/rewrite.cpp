#include "jit/ir/rewrite.h"

#include "base/json.h"
#include "events/recorder.h"

namespace uh::jit {

thread_local RewriteCount* t_rewrites = nullptr;

Rewrite::Rewrite(Graph& graph, std::string rule, const std::vector<const Node*>& concerned,
                 std::source_location location)
    : Rewrite(graph, std::move(rule), concerned, location.file_name(),
              static_cast<int>(location.line())) {}

Rewrite::Rewrite(Graph& graph, std::string rule, const std::vector<const Node*>& concerned,
                 std::string file, int line)
    : graph_(graph), rule_(std::move(rule)), file_(std::move(file)), line_(line) {
  check_kind(!graph.rewrite_, ErrorKind::kInternal, "rewrite '", rule_, "' inside of '",
             graph.rewrite_ ? graph.rewrite_->rule_ : "", "'");
  for (const Node* node : concerned) {
    nodes_.push_back(node->id());
    for (const Value* output : node->outputs()) origins_.push_back(output->id());
    if (!span_) span_ = node->span();
  }
  version_ = graph.version();
  // Edits are stored only for a listener; the count is always updated.
  keeps_edits_ = t_rewrites && (t_rewrites->run != 0 || t_rewrites->saved);
  graph.rewrite_ = this;
}

Edit* Rewrite::add(Edit edit) {
  edits_.push_back(std::move(edit));
  return &edits_.back();
}

Rewrite::~Rewrite() {
  graph_.rewrite_ = nullptr;
  const int64_t edits = graph_.version() - version_;
  if (!t_rewrites || edits == 0) return;
  t_rewrites->edits += edits;
  const int64_t index = t_rewrites->rewrites++;
  if (!keeps_edits_) return;
  if (t_rewrites->run != 0 && events::on()) {
    JsonWriter w;
    w.begin_object().member("file", file_).member("reason", reason_).key("nodes").values(nodes_);
    w.key("edits").raw(json_of(edits_)).end_object();
    const std::string text = w.take();
    events::emit_blob(events::Kind::kREWRITE, t_rewrites->run, index, events::intern(rule_), line_,
                      text.data(), text.size());
  }
  if (t_rewrites->saved)
    t_rewrites->saved->push_back(
        {rule_, reason_, file_, line_, std::move(nodes_), std::move(edits_)});
}

}  // namespace uh::jit
