// Alias analysis: which Values may share memory, and which Nodes write it.
//
// Every Value that can hold memory (a tensor, a list, a dictionary, an object, or one of them
// within an optional or a tuple) points to locations: one for each tensor or container that a Node
// makes, and one per kind for everything from outside. Two Values may alias if they point to a
// common location. A container's location contains those of its items. Schemas declare what
// operators do: `(a)` returns an argument's memory, `(a!)` writes it. Invariant: the answers are
// true of the graph that was analysed, and stay true while nodes are erased and Values that
// became_one() are merged; a Value created since may alias anything. If violated: a pass moves a
// read across a write.
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// True if a value of this type, or a part of it, can be written in place.
bool is_mutable_type(const Type& type);

// True if all users of the value are operators that only compute new values from it: none retains
// the value itself.
bool is_only_read(const Value* value);

class AliasDb {
 public:
  using Location = int32_t;
  using Locations = std::vector<Location>;  // sorted
  // The memory accesses of a node, including the nodes in its blocks.
  struct Access {
    Locations read, written;
  };

  explicit AliasDb(const Graph& graph);

  // True if a write to one may be visible through the other; their contents are not considered.
  bool may_alias(const Value* a, const Value* b) const;
  // The same for any parts of both.
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
  // True if any node writes something that the node reads.
  bool reads_written(const Node* node) const;
  // True if code outside the graph may hold the value, before or after the run.
  bool escapes(const Value* value) const;
  // True if an output of the node is new memory, rather than a view of an existing tensor.
  bool makes_memory(const Node* node) const;

  // True if `a` may replace `b`, which has equal content but separate memory: neither is written,
  // and not both escape, as the caller may write to one of two results.
  bool may_become_one(const Value* a, const Value* b) const;
  // True if the graph switches grad mode. Every operator on tensors reads grad mode, as if it were
  // memory, and may not move across a write of it.
  bool switches_gradients() const { return switches_gradients_; }
  // Must be called when `a` has replaced `b`.
  void became_one(const Value* a, const Value* b);

  // True if two nodes may swap: neither writes memory that the other reads or writes, and at most
  // one has another side effect. Ignores data dependencies between them.
  bool may_swap(const Node* a, const Node* b) const;
  // True if `node` may move to right after `earlier`, an earlier node of the same block or of an
  // enclosing one: it may swap with all nodes in between, and with all nodes of a loop that it
  // leaves. Ignores its data dependencies.
  bool may_move_up_to(const Node* node, const Node* earlier) const;

 private:
  // kPlain: a list or dictionary of numbers and strings, which contains no other memory.
  // kSwitch: not memory, but grad mode.
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

  Locations locations(const Value* value) const;  // that the value may be at
  Locations locations(const std::vector<Value*>& values) const;
  Locations reachable(Locations from) const;  // and the locations of their contents
  Locations content(const Locations& containers) const;
  Location make(const Value* value, int part, Kind kind);
  Locations of_kinds(const Locations& locations, unsigned bits) const;
  void point(const Value* value, const Locations& to);  // to those that match its type
  void put(const Locations& containers, const Locations& content);
  bool any(const Locations& locations, bool Memory::*property) const;

  std::unordered_map<int64_t, Locations> points_;  // by the Value's id
  std::unordered_map<int64_t, Location>
      created_[2];  // of the value itself, of the items of a new list
  std::vector<Memory> memory_;
  mutable std::unordered_map<int64_t, Access> access_;  // by the node's id
  bool changed_ = false;
  bool complete_ = false;
  bool switches_gradients_ = false;
};

// A constant tensor that requires no gradient and that no node writes; null for any other value.
const Tensor* fixed_tensor(const Value* value, const AliasDb& info);

}  // namespace uh::jit
