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
  using Location = int32_t;
  using Locations = std::vector<Location>;  // in order
  // What a node does with memory, the nodes in its blocks included.
  struct Access {
    Locations read, written;
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
  bool is_list_written(const Value* value) const { return any(locations(value), &Memory::written); }
  // True if any node may change the shape of this very tensor: t_(), resize_(), out=.
  bool is_reshaped(const Value* value) const;
  const Access& access(const Node& node) const;
  // True if code outside the graph may hold one of them.
  bool escape(const Locations& locations) const { return any(locations, &Memory::escapes); }
  // True if something that the node reads is written by any node.
  bool reads_written(const Node* node) const;
  // True if code outside the graph may hold it, before or after the run.
  bool escapes(const Value* value) const;
  // True if an output of the node is new memory, rather than a view of an existing tensor.
  bool makes_memory(const Node* node) const;

  // True if `a` may replace `b`, whose content is equal, although they have separate memory:
  // neither is written, and not both escape, as the caller may write to one of two results.
  bool may_become_one(const Value* a, const Value* b) const;
  // True if the graph switches the recording of gradients on or off. Every operator on tensors
  // reads that switch, as if it were memory, and may not move across a write of it.
  bool switches_gradients() const { return switches_gradients_; }
  // Must be called when `a` has replaced `b`.
  void became_one(const Value* a, const Value* b);

  // True if two nodes may swap: neither writes memory that the other reads or writes, and at most
  // one has another visible effect. Ignores Values that one computes for the other.
  bool may_swap(const Node* a, const Node* b) const;
  // True if `node` may move to right after `earlier`, an earlier node of the same block or of one
  // around it: it may swap with all nodes in between, and with all nodes of a loop that it leaves.
  // Ignores the Values that it needs.
  bool may_move_up_to(const Node* node, const Node* earlier) const;

 private:
  // kPlain: a list or dictionary of numbers and strings, which holds no other memory.
  // kSwitch: not memory, but the switch that records gradients.
  enum Kind : int8_t { kTensor, kList, kDict, kObject, kPlain, kKinds, kSwitch = kKinds };
  struct Memory {
    Kind kind;
    Locations content;
    bool written = false, reshaped = false, escapes = false;
  };

  void visit(const Block& block);
  void visit(const Node& node);
  void visit_blocks(const Node& node);
  void visit_operator(const Node& node);
  void visit_builtin(const Node& node);
  void visit_call(const Node& node);
  void mark(const Graph& graph);

  Locations locations(const Value* value) const;  // that it may be
  Locations locations(const std::vector<Value*>& values) const;
  Locations reachable(Locations from) const;  // and their content
  Locations content(const Locations& containers) const;
  Location make(const Value* value, int part, Kind kind);
  Locations of_kinds(const Locations& locations, unsigned bits) const;
  void point(const Value* value, const Locations& to);  // to those that fit its type
  void put(const Locations& containers, const Locations& content);
  bool any(const Locations& locations, bool Memory::*property) const;

  std::unordered_map<int64_t, Locations> points_;  // by number of the Value
  std::unordered_map<int64_t, Location>
      created_[2];  // of the value itself, of the items of a new list
  std::vector<Memory> memory_;
  mutable std::unordered_map<int64_t, Access> access_;  // by number of the node
  bool changed_ = false;
  bool complete_ = false;
  bool switches_gradients_ = false;
};

// A constant tensor that requires no gradient and that no node writes; null for any other value.
const Tensor* fixed_tensor(const Value* value, const AliasDb& info);

}  // namespace uh::jit
