// Views of views: inverse pairs, compositions and identities.
#include <algorithm>

#include "jit/ir/effects.h"
#include "jit/ir/type_predicates.h"
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

using Ints = std::vector<int64_t>;

// True if the Value escapes to a caller, who can then see its identity.
bool is_returned(const Value* value) {
  return std::any_of(value->uses().begin(), value->uses().end(), [](const Use& use) {
    if (use.node->is("prim::Return")) return true;
    const bool holds = use.node->is("prim::TupleConstruct") ||
                       use.node->is("prim::ListConstruct") || use.node->is("prim::DictConstruct");
    return holds && is_returned(use.node->output());
  });
}

// Replaces a view that PyTorch does not remove by the viewed tensor, unless the view escapes to a
// caller who could see that it is the tensor itself.
bool same_unless_returned(Peephole& p, Node* node, Value* with, const char* rule,
                          std::vector<Node*> concerned = {}, std::string because = "",
                          Peephole::Location location = Peephole::Location::current()) {
  return !is_returned(node->output()) &&
         p.same(node, with, rule, std::move(concerned), std::move(because), location);
}

Node* producer(const Value* value, std::initializer_list<const char*> kinds) {
  for (const char* kind : kinds)
    if (value->node()->is(kind)) return value->node();
  return nullptr;
}

// True if `d` is a valid dimension for `rank`.
bool is_dimension(int64_t d, int64_t rank) { return d >= -rank && d < rank; }

// True if a view raises no error: the sizes of its result are known, so shape propagation has run
// it on a tensor with its input's sizes and strides.
bool is_valid_view(const Node* node) {
  const TensorProperties* facts = facts_of(node->input(0));
  return facts && known_sizes(node->input(0)) && all_known(facts->strides) &&
         known_sizes(node->output());
}

// As in PyTorch, for any rank: the error of t() for more than two dimensions is lost.
bool t_twice(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::t"});
  return inner && p.same(node, inner->input(0), "x.t().t() -> x", {inner});
}

bool numpy_t_twice(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::numpy_T"});
  return inner && p.same(node, inner->input(0), "x.T.T -> x", {inner});
}

// The two dimensions of a transpose of a tensor with the rank of `x`, counted from the front;
// nullopt if the call may raise.
std::optional<std::pair<int64_t, int64_t>> dims_of_transpose(const Node* node, const Value* x) {
  std::optional<int64_t> a = constant_int(node->input(1)), b = constant_int(node->input(2));
  const std::optional<int64_t> rank = known_rank(x);
  if (!a || !b || !rank) return std::nullopt;
  for (int64_t* d : {&*a, &*b}) {
    if (!is_dimension(*d, std::max<int64_t>(*rank, 1))) return std::nullopt;
    if (*d < 0) *d += *rank;
  }
  return std::minmax(*a, *b);
}

bool transpose_twice(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::transpose", "aten::swapaxes", "aten::swapdims"});
  if (!inner) return false;
  const auto dims = dims_of_transpose(node, inner->input(0));
  return dims && dims == dims_of_transpose(inner, inner->input(0)) &&
         same_unless_returned(p, node, inner->input(0), "x.transpose(a, b).transpose(a, b) -> x",
                              {inner});
}

// t() equals transpose(0, 1) for two dimensions; otherwise one of them raises.
bool t_and_transpose(Peephole& p, Node* node) {
  Node* inner =
      node->is("aten::t")
          ? producer(node->input(0), {"aten::transpose", "aten::swapaxes", "aten::swapdims"})
          : producer(node->input(0), {"aten::t"});
  if (!inner || known_rank(inner->input(0)) != 2) return false;
  const Node* transpose = node->is("aten::t") ? inner : node;
  const std::optional<int64_t> a = constant_int(transpose->input(1));
  const std::optional<int64_t> b = constant_int(transpose->input(2));
  if (!a || !b) return false;
  const auto in_two = [](int64_t d) { return d < 0 ? d + 2 : d; };
  return std::minmax({in_two(*a), in_two(*b)}) == std::pair<int64_t, int64_t>(0, 1) &&
         same_unless_returned(p, node, inner->input(0), "x.t().transpose(0, 1) -> x", {inner});
}

bool transpose_of_one_dimension(Peephole& p, Node* node) {
  const auto dims = dims_of_transpose(node, node->input(0));
  return dims && dims->first == dims->second &&
         same_unless_returned(p, node, node->input(0), "x.transpose(a, a) -> x");
}

// The dimensions of a permute, counted from the front.
std::optional<Ints> order_of(const Peephole& p, const Node* node) {
  std::optional<Ints> dims = p.ints(node->input(1));
  if (!dims) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(dims->size());
  for (int64_t& d : *dims) {
    if (d < 0) d += rank;
    if (d < 0 || d >= rank) return std::nullopt;
  }
  return dims;
}

bool is_in_order(const Ints& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

bool permute_in_order(Peephole& p, Node* node) {
  const std::optional<Ints> order = order_of(p, node);
  if (!order || known_rank(node->input(0)) != static_cast<int64_t>(order->size())) return false;
  return is_in_order(*order) &&
         same_unless_returned(p, node, node->input(0), "x.permute(0, 1, 2) -> x", {},
                              "the dimensions stay in their order");
}

bool permute_twice(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::permute"});
  if (!inner) return false;
  const std::optional<Ints> last = order_of(p, node), first = order_of(p, inner);
  if (!last || !first || last->size() != first->size()) return false;
  if (known_rank(inner->input(0)) != static_cast<int64_t>(first->size()))
    return false;  // may raise
  Ints both;
  for (const int64_t d : *last) both.push_back((*first)[static_cast<size_t>(d)]);
  if (is_in_order(both))
    return same_unless_returned(p, node, inner->input(0), "x.permute(p).permute(back) -> x",
                                {inner});
  const OperatorInfo* op = node->op();
  Value* x = inner->input(0);
  if (p.alias().is_reshaped(x) || p.alias().is_reshaped(inner->output())) return false;
  return p.instead(node, "x.permute(p).permute(q) -> x.permute(p[q])", {inner}, [&](Graph& graph) {
    Value* dims =
        graph.insert_constant(make_container<List>(std::vector<IValue>(both.begin(), both.end())));
    return graph.insert(graph.create_call(*op, {x, dims}))->output();
  });
}

bool is_view_by_size(const Node* node) {
  return node->is("aten::view") && node->inputs().size() == 2 &&
         node->input(1)->type()->is(TypeKind::kList);
}

// A view of a view is valid exactly if it is valid on the base: both depend on which neighbouring
// dimensions are contiguous. The same holds for a reshape, which copies otherwise. The first view
// must be known to be valid: x.t().view(12) may raise.
bool view_of_view(Peephole& p, Node* node) {
  if (!node->is("aten::reshape") && !is_view_by_size(node)) return false;
  Node* inner = producer(node->input(0), {"aten::view"});
  if (!inner || !is_view_by_size(inner) || !is_valid_view(inner)) return false;
  return p.reach_through(node, 0, inner->input(0),
                         node->is("aten::view") ? "x.view(a).view(b) -> x.view(b)"
                                                : "x.view(a).reshape(b) -> x.reshape(b)",
                         {inner});
}

// A reshape of a row-major tensor is a view, too.
bool view_of_reshape(Peephole& p, Node* node) {
  if (!node->is("aten::reshape") && !is_view_by_size(node)) return false;
  Node* inner = producer(node->input(0), {"aten::reshape"});
  if (!inner || !is_row_major(inner->input(0)) || !is_valid_view(inner)) return false;
  return p.reach_through(node, 0, inner->input(0), "x.reshape(a).view(b) -> x.view(b)", {inner},
                         "x is row-major: reshape is a view of it");
}

bool view_as_it_is(Peephole& p, Node* node) {
  if (!node->is("aten::reshape") && !is_view_by_size(node)) return false;
  Value* x = node->input(0);
  // Under no_grad the view requires no gradient, while x may.
  if (p.alias().switches_gradients()) return false;
  // x.view(x.size())
  Node* size = producer(node->input(1), {"aten::size"});
  if (size && size->inputs().size() == 1 && size->input(0) == x &&
      !p.alias().is_list_written(size->output()))
    return p.same_object(node, x, "x.view(x.size()) -> x", {size});
  const std::optional<Ints> sizes = known_sizes(x), wanted = p.ints(node->input(1));
  return sizes && sizes == wanted &&
         p.same_object(node, x, "x.view(a) -> x", {}, "x has these sizes already");
}

bool expand_as_it_is(Peephole& p, Node* node) {
  const std::optional<Ints> sizes = known_sizes(node->input(0)), wanted = p.ints(node->input(1));
  if (!sizes || !wanted || sizes->size() != wanted->size()) return false;
  for (size_t i = 0; i < sizes->size(); ++i)
    if ((*wanted)[i] != -1 && (*wanted)[i] != (*sizes)[i]) return false;
  return p.same(node, node->input(0), "x.expand(a) -> x", {}, "x has these sizes already");
}

bool expand_of_expand(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::expand"});
  const std::optional<Ints> expected = p.ints(node->input(1));
  if (!inner || !expected || std::count(expected->begin(), expected->end(), -1) != 0) return false;
  if (!known_sizes(inner->input(0)) || !known_sizes(inner->output())) return false;  // may raise
  return p.reach_through(node, 0, inner->input(0), "x.expand(a).expand(b) -> x.expand(b)", {inner},
                         "b names every size");
}

// The dimensions that a squeeze names; nullopt if there are none, or they are unknown.
std::optional<Ints> squeezed(Peephole& p, const Node* node) {
  const Value* dim = node->input("dim");
  if (!dim) return std::nullopt;
  const std::optional<int64_t> single_dim = constant_int(dim);
  return single_dim ? Ints{*single_dim} : p.ints(dim);
}

bool squeeze_of_unsqueeze(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::unsqueeze"});
  if (!inner) return false;
  const std::optional<int64_t> added = constant_int(inner->input(1));
  const std::optional<Ints> removed = squeezed(p, node);
  const std::optional<int64_t> rank = known_rank(inner->input(0));
  return added && removed && rank && is_dimension(*added, *rank + 1) && *removed == Ints{*added} &&
         same_unless_returned(p, node, inner->input(0), "x.unsqueeze(d).squeeze(d) -> x", {inner});
}

bool unsqueeze_of_squeeze(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::squeeze"});
  if (!inner) return false;
  Value* x = inner->input(0);
  const std::optional<int64_t> added = constant_int(node->input(1));
  const std::optional<Ints> removed = squeezed(p, inner), sizes = known_sizes(x);
  if (!added || !removed || !sizes || *removed != Ints{*added}) return false;
  const int64_t rank = static_cast<int64_t>(sizes->size());
  const int64_t d = *added < 0 ? *added + rank : *added;
  if (d < 0 || d >= rank || (*sizes)[static_cast<size_t>(d)] != 1 || !is_row_major(x)) return false;
  return same_unless_returned(p, node, x, "x.squeeze(d).unsqueeze(d) -> x", {inner},
                              "x has size 1 there");
}

bool squeeze_of_nothing(Peephole& p, Node* node) {
  const std::optional<Ints> dims = squeezed(p, node), sizes = known_sizes(node->input(0));
  const Value* dim = node->input("dim");
  if (!sizes || (!dims && dim && !is_constant_none(dim))) return false;
  const int64_t rank = static_cast<int64_t>(sizes->size());
  Ints looked_at;
  if (dims) {
    for (const int64_t d : *dims) looked_at.push_back(d < 0 ? d + rank : d);
  } else {
    for (int64_t d = 0; d < rank; ++d) looked_at.push_back(d);
  }
  for (const int64_t d : looked_at)
    if (d < 0 || d >= rank || (*sizes)[static_cast<size_t>(d)] == 1) return false;
  return same_unless_returned(p, node, node->input(0), "x.squeeze(d) -> x", {},
                              "x has another size than 1 there");
}

bool slice_of_all(Peephole& p, Node* node) {
  if (!node->input("dim")) return false;  // a squeeze of a list or string
  const auto is_first = [](const Value* v) { return is_constant_none(v) || constant_int(v) == 0; };
  const auto is_last = [](const Value* v) {
    return is_constant_none(v) || constant_int(v) == INT64_MAX;
  };
  const std::optional<int64_t> dim = constant_int(node->input("dim"));
  const std::optional<int64_t> rank = known_rank(node->input(0));
  return dim && rank && is_dimension(*dim, *rank) && is_first(node->input("start")) &&
         is_last(node->input("end")) && constant_int(node->input("step")) == 1 &&
         same_unless_returned(p, node, node->input(0), "x[:] -> x");
}

// True if contiguous() requests row-major order: memory format 0.
bool asks_for_rows(const Node& contiguous) {
  return is_constant_none(contiguous.input(1)) || constant_int(contiguous.input(1)) == 0;
}

bool contiguous_of_contiguous(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::contiguous"});
  const bool plain = asks_for_rows(*node);
  if (inner && plain && asks_for_rows(*inner))
    return p.same_object(node, inner->output(), "x.contiguous().contiguous() -> x.contiguous()");
  return plain && is_row_major(node->input(0)) &&
         p.same_object(node, node->input(0), "x.contiguous() -> x", {}, "x is row-major");
}

bool detach_twice(Peephole& p, Node* node) {
  Node* inner = producer(node->input(0), {"aten::detach"});
  return inner && p.same(node, inner->output(), "x.detach().detach() -> x.detach()");
}

// Folds operators that return their argument if there is nothing to do.
bool nothing_to_resolve(Peephole& p, Node* node) {
  return p.same_object(node, node->input(0), "x.resolve_conj() -> x", {},
                       "conjugates are always written out");
}

bool positive(Peephole& p, Node* node) {
  const DType dtype = known_dtype(node->input(0));
  return dtype != DType::kUndefined && dtype != DType::kBool &&
         p.same_object(node, node->input(0), "+x -> x");
}

bool dropout_without_training(Peephole& p, Node* node) {
  const std::optional<double> rate = constant_float(node->input("p"));
  return rate && *rate >= 0 && *rate <= 1 && constant_bool(node->input("train")) == false &&
         p.same_object(node, node->input(0), "dropout(x, p, training=False) -> x");
}

}  // namespace

const PeepholeRules& view_rules() {
  static const auto* rules = new PeepholeRules{
      {{"aten::t"}, t_twice},
      {{"aten::numpy_T"}, numpy_t_twice},
      {{"aten::transpose", "aten::swapaxes", "aten::swapdims"}, transpose_twice},
      {{"aten::transpose", "aten::swapaxes", "aten::swapdims"}, transpose_of_one_dimension},
      {{"aten::t", "aten::transpose", "aten::swapaxes", "aten::swapdims"}, t_and_transpose},
      {{"aten::permute"}, permute_in_order},
      {{"aten::permute"}, permute_twice},
      {{"aten::view", "aten::reshape"}, view_as_it_is},
      {{"aten::view", "aten::reshape"}, view_of_view},
      {{"aten::view", "aten::reshape"}, view_of_reshape},
      {{"aten::expand"}, expand_as_it_is},
      {{"aten::expand"}, expand_of_expand},
      {{"aten::squeeze"}, squeeze_of_unsqueeze},
      {{"aten::squeeze"}, squeeze_of_nothing},
      {{"aten::unsqueeze"}, unsqueeze_of_squeeze},
      {{"aten::slice"}, slice_of_all},
      {{"aten::contiguous"}, contiguous_of_contiguous},
      {{"aten::detach"}, detach_twice},
      {{"aten::resolve_conj", "aten::resolve_neg"}, nothing_to_resolve},
      {{"aten::positive"}, positive},
      {{"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout",
        "aten::feature_alpha_dropout"},
       dropout_without_training},
  };
  return *rules;
}

}  // namespace uh::jit
