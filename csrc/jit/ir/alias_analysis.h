// Alias analysis: which Values may be the same memory, and which Nodes write it.
//
// What: every Value that can hold memory (a tensor, a list, a dictionary, an object, or one of them
// within an optional or a tuple) points to places: one for each tensor or container that a Node
// makes, and one for all of each kind that come from outside. Two Values may be the same memory
// when they point to a common location. The location of a container holds the locations of its
// items. Schemas say what operators do: `(a)` hands memory on, `(a!)` writes it. Invariant: the
// answers are true of the graph as it was, and stay true while nodes vanish and Values that
// became_one() are merged; a Value made since is taken for anything. If violated: a pass moves a
// read across the write that it was to see.
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// True if the holder of a value of this type can write it, or something in it.
bool is_mutable_type(const Type& type);

// True if all users of the value are operators that compute something new from it: none gets hold
// of the value itself.
bool is_only_read(const Value* value);

class AliasDb {
 public:
  using Place = int32_t;
  using Places = std::vector<Place>;  // in order
  // What a node does with memory, the nodes in its blocks included.
  struct Access {
    Places read, written;
  };

  explicit AliasDb(const Graph& graph);

  // True if a write to one may be seen through the other; their contents are not considered.
  bool may_alias(const Value* a, const Value* b) const;
  // The same of any part of one and any part of the other.
  bool may_contain_alias(const Value* a, const Value* b) const;

  // True if the node, or one in its blocks, may write this value or its contents.
  bool writes_to(const Node* node, const Value* value) const;
  // The same for any node of the graph.
  bool has_writers(const Value* value) const;
  // The same for a list or dictionary itself, not for its items.
  bool is_list_written(const Value* value) const { return any(places(value), &Memory::written); }
  // True if any node may change the shape of this very tensor: t_(), resize_(), out=.
  bool is_reshaped(const Value* value) const;
  const Access& access(const Node& node) const;
  // True if code outside the graph may hold one of them.
  bool escape(const Places& places) const { return any(places, &Memory::escapes); }
  // True if something that the node reads is written by any node.
  bool reads_written(const Node* node) const;
  // Whether someone outside may hold it, before the graph is run or after.
  bool escapes(const Value* value) const;
  // True if an output of the node is new memory, rather than a view of an existing tensor.
  bool makes_memory(const Node* node) const;

  // True if `a` may replace `b`, of equal content, although they were apart: neither is written,
  // and not both are seen outside, where who gets two results may write to one of them.
  bool may_become_one(const Value* a, const Value* b) const;
  // True if the graph switches the recording of gradients on or off. Every operator on tensors
  // reads that switch, as if it were memory: it stays on its side of where it is written.
  bool switches_gradients() const { return switches_gradients_; }
  // Must be called when `a` has replaced `b`.
  void became_one(const Value* a, const Value* b);

  // Whether two nodes may change places: neither writes what the other reads or writes, and not
  // both do something else that is seen. Says nothing of Values that one makes for the other.
  bool may_swap(const Node* a, const Node* b) const;
  // Whether `node` may stand right after `earlier`, which is before it in the same block or in one
  // around it: it may change places with all that is between, and with all of a loop that it
  // leaves. Says nothing of the Values that it needs.
  bool may_move_up_to(const Node* node, const Node* earlier) const;

 private:
  // kPlain: a list or dictionary of numbers and strings, which holds no other memory.
  // kSwitch: no memory, but whether gradients are recorded.
  enum Kind : int8_t { kTensor, kList, kDict, kObject, kPlain, kKinds, kSwitch = kKinds };
  struct Memory {
    Kind kind;
    Places content;
    bool written = false, reshaped = false, escapes = false;
  };

  void visit(const Block& block);
  void visit(const Node& node);
  void visit_blocks(const Node& node);
  void visit_operator(const Node& node);
  void visit_builtin(const Node& node);
  void visit_call(const Node& node);
  void mark(const Graph& graph);

  Places places(const Value* value) const;  // what it is
  Places places(const std::vector<Value*>& values) const;
  Places reachable(Places from) const;  // and what is in it
  Places content(const Places& containers) const;
  Place make(const Value* value, int part, Kind kind);
  Places of_kinds(const Places& places, unsigned bits) const;
  void point(const Value* value, const Places& to);  // to those of them that its type can be
  void put(const Places& containers, const Places& content);
  bool any(const Places& places, bool Memory::*what) const;

  std::unordered_map<int64_t, Places> points_;  // by number of the Value
  std::unordered_map<int64_t, Place> made_[2];  // itself, the items of a new list
  std::vector<Memory> memory_;
  mutable std::unordered_map<int64_t, Access> access_;  // by number of the node
  bool changed_ = false;
  bool complete_ = false;
  bool switches_gradients_ = false;
};

// A constant tensor that requires no gradient and that no node writes; null for any other value.
const Tensor* fixed_tensor(const Value* value, const AliasDb& info);

}  // namespace uh::jit
