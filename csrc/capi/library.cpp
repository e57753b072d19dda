// The C ABI of operator libraries: see underhood_library.h.
#include "dispatch/library.h"

#include <dlfcn.h>
#if __has_include(<elf.h>)
#include <elf.h>
#endif

#include <algorithm>
#include <cstring>
#include <forward_list>
#include <fstream>
#include <list>

#include "autograd/library_formula.h"
#include "capi/convert.h"
#include "capi/library.h"
#include "capi/underhood_library.h"

using namespace uh;  // NOLINT: this file is nothing but calls into uh

struct uh_values {
  Stack stack;
};

namespace uh {
namespace {

Library& library_of(uh_library* library) {
  check(library != nullptr, "library: the handle is 0");
  return *reinterpret_cast<Library*>(library);
}
OperatorInfo& operator_of(uh_operator* op) {
  check(op != nullptr, "operator: the handle is 0");
  return *reinterpret_cast<OperatorInfo*>(op);
}
uh_operator* to_c(OperatorInfo* op) { return reinterpret_cast<uh_operator*>(op); }
autograd::FormulaContext& context_of(uh_formula_context* ctx) {
  return *reinterpret_cast<autograd::FormulaContext*>(ctx);
}
uh_formula_context* to_c(autograd::FormulaContext& ctx) {
  return reinterpret_cast<uh_formula_context*>(&ctx);
}

// Values that are lent to a callback: handles and pointers refer to `stack`, and no reference is
// passed on.
class LentValues {
 public:
  explicit LentValues(const Stack& stack) {
    values_.reserve(stack.size());
    for (const IValue& value : stack) values_.push_back(lend(value));
  }
  const uh_value* data() const { return values_.data(); }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }

 private:
  static uh_handle handle(const Tensor& t) { return reinterpret_cast<uh_handle>(t.impl()); }

  uh_value lend(const IValue& value) {
    if (const Tensor* t = value.get_if<Tensor>())
      return {*t ? UH_VALUE_TENSOR : UH_VALUE_NONE, static_cast<int64_t>(handle(*t)), 0, nullptr};
    if (const auto* list = value.get_if<std::vector<Tensor>>()) {
      auto& handles = handles_.emplace_front();
      for (const Tensor& t : *list) handles.push_back(handle(t));
      return {UH_VALUE_TENSORS, static_cast<int64_t>(list->size()), 0, handles.data()};
    }
    if (const auto* dims = value.get_if<Dims>())
      return {UH_VALUE_INTS, dims->ndim(), 0, dims->data()};
    if (const auto* floats = value.get_if<std::vector<double>>())
      return {UH_VALUE_FLOATS, static_cast<int64_t>(floats->size()), 0, floats->data()};
    if (const auto* text = value.get_if<std::string>())
      return {UH_VALUE_STRING, static_cast<int64_t>(text->size()), 0, text->data()};
    if (const auto* box = value.get_if<Ref<Container>>())
      return {UH_VALUE_BOX, reinterpret_cast<int64_t>(box->get()), 0, nullptr};
    return write_value(value);  // numbers
  }

  std::vector<uh_value> values_;
  std::forward_list<std::vector<uh_handle>> handles_;
};

// A library's context pointer for one of its functions, with its destructor.
class Context {
 public:
  Context(void* object, void (*destroy)(void*)) : object_(object), destroy_(destroy) {}
  ~Context() {
    if (!destroy_) return;
    const OutsideCalls host;
    destroy_(object_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  void* get() const { return object_; }

 private:
  void* const object_;
  void (*const destroy_)(void*);
};
using ContextRef = std::shared_ptr<const Context>;

// Calls a library's function and throws the error that it reports.
template <class F>
void call_out(std::string_view caller, F&& f) {
  const size_t before = set_last_error(ErrorKind::kInternal, "");
  const int status = [&] {
    const OutsideCalls host;
    return f();
  }();
  if (status == 0) return forget_errors(before);
  check(*uh_last_error() != '\0', caller, " failed without saying why");
  throw_last_error();
}

// Returns a reference that is not recorded.
uh_handle give_plain(const Tensor& t) { return reinterpret_cast<uh_handle>(Tensor(t).leak()); }

uh_list* give_plain_list(const std::vector<Tensor>& tensors) {
  auto* list = new uh_list{static_cast<int64_t>(tensors.size()), new uh_handle[tensors.size() + 1]};
  for (size_t i = 0; i < tensors.size(); ++i)
    list->items[i] = tensors[i] ? give_plain(tensors[i]) : 0;
  return list;
}

uh_value write_plain(IValue value) {
  if (const Tensor* t = value.get_if<Tensor>(); t && *t)
    return {UH_VALUE_TENSOR, static_cast<int64_t>(give_plain(*t)), 0, nullptr};
  if (const auto* list = value.get_if<std::vector<Tensor>>())
    return {UH_VALUE_TENSORS, static_cast<int64_t>(list->size()), 0, give_plain_list(*list)};
  return write_value(std::move(value));
}

std::string text_or(const char* text, std::string_view fallback) {
  return std::string(text ? std::string_view(text) : fallback);
}

}  // namespace
}  // namespace uh

uh_handle uh_incref(uh_handle self) { return give_plain(Tensor::share(impl_of(self))); }

void uh_set_error(int kind, const char* text) {
  const bool known = kind >= UH_ERROR_RUNTIME && kind <= UH_ERROR_DEVICE_MEMORY;
  set_last_error(known ? static_cast<ErrorKind>(kind) : ErrorKind::kRuntime,
                 text ? text : "an error without a message");
}

// ---- libraries

uh_library* uh_library_new(const char* name_space, int kind, const char* location) {
  return guard(static_cast<uh_library*>(nullptr), [&] {
    initialise();
    check(kind >= UH_DEFINITIONS && kind <= UH_IMPLEMENTATIONS, "library: unknown kind ", kind);
    auto* library = new Library(text_or(name_space, ""), static_cast<Library::Kind>(kind),
                                text_or(location, "an unknown place"));
    return reinterpret_cast<uh_library*>(library);
  });
}
void uh_library_free(uh_library* library) { delete reinterpret_cast<Library*>(library); }

int uh_library_define(uh_library* library, const char* schema) {
  return guard(-1, [&] {
    library_of(library).define(text_or(schema, ""));
    return 0;
  });
}

int uh_library_set_python_module(uh_library* library, const char* module, const char* context) {
  return guard(-1, [&] {
    library_of(library).set_python_module(text_or(module, ""), text_or(context, ""));
    return 0;
  });
}

int uh_values_add(uh_values* values, const uh_value* value) {
  return guard(-1, [&] {
    values->stack.push_back(read_value(*value));
    return 0;
  });
}

int uh_library_check_signature(uh_library* handle, const char* name, const char* signature,
                               const char* kernel_name) {
  return guard(-1, [&] {
    library_of(handle)
        .find(text_or(name, ""))
        .check_signature(text_or(signature, ""), text_or(kernel_name, "kernel of a library"));
    return 0;
  });
}

int uh_library_implement(uh_library* handle, const char* name, const char* key, uh_kernel_fn kernel,
                         int64_t n_parameters, void* object, void (*destroy)(void*),
                         const char* kernel_name) {
  return guard(-1, [&] {
    const auto context = std::make_shared<const Context>(object, destroy);
    const std::string label = text_or(kernel_name, "kernel of a library");
    Library& library = library_of(handle);
    check(kernel != nullptr, "library: the kernel is 0");
    const BoxedOperator& op = library.find(text_or(name, ""));
    const auto n_arguments = static_cast<int64_t>(op.schema().arguments.size());
    check(n_parameters < 0 || n_parameters == n_arguments, label, ": the kernel has ", n_parameters,
          " parameters, where the schema has ", n_arguments,
          " arguments; schema: ", op.schema_text());
    library.implement(
        text_or(name, ""), KernelTarget::parse(text_or(key, "")),
        [kernel, context, label](KeySet, Stack& stack) {
          uh_values results;
          call_out(label, [&] {
            const LentValues args(stack);
            return kernel(context->get(), args.data(), args.size(), &results);
          });
          stack = std::move(results.stack);
        },
        label);
    return 0;
  });
}

// ---- gradient formulas

int uh_library_autograd(uh_library* handle, const char* name, uh_formula_fn backward,
                        uh_setup_context_fn setup_context, void* object, void (*destroy)(void*),
                        const char* kernel_name) {
  return guard(-1, [&] {
    const auto context = std::make_shared<const Context>(object, destroy);
    const std::string label = text_or(kernel_name, "gradient formula of a library");
    check(backward != nullptr, "library: the backward formula is 0");
    autograd::Formula formula;
    if (setup_context) {
      formula.setup_context = [=](autograd::FormulaContext& ctx, const Stack& arguments,
                                  const Stack& results) {
        call_out(label, [&] {
          const LentValues args(arguments), outputs(results);
          return setup_context(context->get(), to_c(ctx), args.data(), args.size(), outputs.data(),
                               outputs.size());
        });
      };
    }
    formula.backward = [=](autograd::FormulaContext& ctx, const Stack& gradients) {
      uh_values results;
      call_out(label, [&] {
        const LentValues lent(gradients);
        return backward(context->get(), to_c(ctx), lent.data(), lent.size(), &results);
      });
      return std::move(results.stack);
    };
    autograd::register_formula(library_of(handle), text_or(name, ""), std::move(formula), label);
    return 0;
  });
}

int uh_formula_save(uh_formula_context* ctx, const uh_handle* tensors, int64_t n) {
  return guard(-1, [&] {
    context_of(ctx).save_for_backward(to_tensors(tensors, n));
    return 0;
  });
}
uh_list* uh_formula_saved(uh_formula_context* ctx) {
  return guard(static_cast<uh_list*>(nullptr),
               [&] { return give_plain_list(context_of(ctx).saved_tensors()); });
}
int uh_formula_set(uh_formula_context* ctx, const char* name, const uh_value* value) {
  return guard(-1, [&] {
    IValue copy = read_value(*value);
    check(!copy.get_if<Tensor>() && !copy.get_if<std::vector<Tensor>>(),
          "formula: tensors are saved with save_for_backward; '", name, "' is one");
    context_of(ctx).set_value(name, std::move(copy));
    return 0;
  });
}
int uh_formula_get(uh_formula_context* ctx, const char* name, uh_value* ret_value) {
  return guard(-1, [&] {
    const IValue* value = context_of(ctx).value(name);
    check_kind(value != nullptr, ErrorKind::kIndex, "formula: nothing is saved as '", name, "'");
    *ret_value = write_value(*value);
    return 0;
  });
}
int uh_formula_needs_gradient(uh_formula_context* ctx, int64_t argument) {
  return argument >= 0 && context_of(ctx).needs_input_grad(static_cast<size_t>(argument));
}
void uh_formula_materialize(uh_formula_context* ctx, int on) {
  context_of(ctx).set_materialize_grads(on != 0);
}

// ---- operators by handle

uh_operator* uh_operator_find(const char* name) {
  return guard(static_cast<uh_operator*>(nullptr), [&] {
    initialise();
    OperatorInfo* op = Dispatcher::instance().find(text_or(name, ""));
    check(op != nullptr, "no operator is registered under the name '", name, "'");
    return to_c(op);
  });
}
const char* uh_operator_namespace(uh_operator* op) { return operator_of(op).name_space().data(); }
int uh_operator_call(uh_operator* op, const uh_value* args, int64_t n, uh_value* ret_results) {
  return guard(-1, [&] { return call_boxed(operator_of(op), args, n, ret_results, write_plain); });
}
int uh_operator_redispatch(uh_operator* op, const uh_value* args, int64_t n,
                           uh_value* ret_results) {
  return guard(-1, [&] {
    OperatorInfo& info = operator_of(op);
    auto* const boxed = dynamic_cast<BoxedOperator*>(&info);
    check(boxed != nullptr, "redispatch: ", info.name_space(), "::", info.full_name(),
          " is not an operator of a library");
    check(info.schema().returns.size() <= 8, info.full_name(), ": has ",
          info.schema().returns.size(), " results; the C ABI carries 8");
    Stack stack;
    for (int64_t i = 0; i < n; ++i) stack.push_back(read_value(args[i]));
    boxed->call_below_autograd(stack);
    for (size_t i = 0; i < stack.size(); ++i) ret_results[i] = write_value(std::move(stack[i]));
    return static_cast<int>(stack.size());
  });
}
uint64_t uh_operator_generation(void) { return Dispatcher::instance().generation(); }
int uh_set_below_autograd(int below) {
  const bool before = t_state.excluded.has(Key::kAutograd);
  t_state.excluded = below ? t_state.excluded | Key::kAutograd : t_state.excluded - Key::kAutograd;
  return before;
}

// ---- shared objects

// A registration block of a shared object: runs once, and is undone when the object is unloaded.
struct uh_library_block {
  std::string name_space;
  Library::Kind kind;
  uh_library_block_fn run;
  void* context;
  std::string location;
  std::unique_ptr<Library> library;
};

namespace uh {
namespace {

// Blocks that have not run: of the object that this thread is loading, and of all others.
using Blocks = std::list<uh_library_block*>;
thread_local Blocks* t_loading = nullptr;
std::recursive_mutex& load_lock() {
  static auto* lock = new std::recursive_mutex;
  return *lock;
}
// All existing blocks, run or not.
Blocks& alive() {
  static auto* blocks = new Blocks;
  return *blocks;
}
Blocks& waiting() {
  static auto* blocks = new Blocks;
  return *blocks;
}
bool g_initialised = false;

// Path of the shared object that contains a block.
std::string object_of(const uh_library_block& block) {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(block.run), &info) != 0 ? text_or(info.dli_fname, "")
                                                                  : std::string();
}

void run_block(uh_library_block& block) {
  auto library =
      std::make_unique<Library>(block.name_space, block.kind, block.location, object_of(block));
  call_out(block.location,
           [&] { return block.run(block.context, reinterpret_cast<uh_library*>(library.get())); });
  block.library = std::move(library);
}

// Runs definitions before implementations, whatever the linker's order.
void run_blocks(Blocks blocks) {
  blocks.sort([](const uh_library_block* a, const uh_library_block* b) {
    const auto last = Library::Kind::kImplement;
    return (a->kind == last) < (b->kind == last);
  });
  for (uh_library_block* block : blocks) run_block(*block);
}

// Runs the waiting blocks of objects that were not loaded by uh_library_load, if their operators
// are defined.
void run_waiting() {
  Blocks ready;
  std::copy_if(waiting().begin(), waiting().end(), std::back_inserter(ready),
               [](const uh_library_block* block) {
                 return block->kind != Library::Kind::kImplement ||
                        is_library_namespace(block->name_space) ||
                        std::any_of(waiting().begin(), waiting().end(),
                                    [&](const uh_library_block* other) {
                                      return other->kind != Library::Kind::kImplement &&
                                             other->name_space == block->name_space;
                                    });
               });
  std::erase_if(waiting(), [&](uh_library_block* block) {
    return std::find(ready.begin(), ready.end(), block) != ready.end();
  });
  run_blocks(std::move(ready));
}

// Throws for a truncated file: dlopen maps as much as the ELF headers declare, and accesses beyond
// the end of the file are bus errors. dlopen reports all other defects itself.
void check_complete([[maybe_unused]] const std::string& path) {
#if __has_include(<elf.h>)
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  const auto read = [&](uint64_t position, void* to, size_t n) {
    file.seekg(static_cast<std::streamoff>(position));
    return static_cast<bool>(file.read(static_cast<char*>(to), static_cast<std::streamsize>(n)));
  };
  Elf64_Ehdr header{};
  if (!file || !read(0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const bool is_read = read(header.e_phoff + i * sizeof segment, &segment, sizeof segment);
    check(is_read && (segment.p_type != PT_LOAD ||
                      (segment.p_filesz <= size && segment.p_offset <= size - segment.p_filesz)),
          "load_library: cannot load ", path, ": the file is cut off after ", size, " bytes");
  }
#endif
}

void load_object(const std::string& path) {
  const std::lock_guard lock(load_lock());
  if (std::any_of(alive().begin(), alive().end(),
                  [&](const uh_library_block* block) { return object_of(*block) == path; }))
    return;
  check_complete(path);
  Blocks blocks;
  Blocks* const outer = std::exchange(t_loading, &blocks);
  const uint64_t before = Dispatcher::instance().generation();
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string reason = object ? "" : text_or(::dlerror(), "unknown reason");
  t_loading = outer;
  check(object != nullptr, "load_library: cannot load ", path, ": ", reason);
  try {
    check(!blocks.empty() || Dispatcher::instance().generation() != before, "load_library: ", path,
          " is not an operator library: it registers no operators (UH_LIBRARY of "
          "underhood/underhood_library.hpp)");
    run_blocks(blocks);
  } catch (...) {
    for (uh_library_block* block : blocks) block->library.reset();
    ::dlclose(object);
    throw;
  }
}

}  // namespace

void run_library_blocks() {
  const std::lock_guard lock(load_lock());
  g_initialised = true;
  run_waiting();
}

}  // namespace uh

uh_library_block* uh_library_block_new(const char* name_space, int kind, uh_library_block_fn run,
                                       void* context, const char* location) {
  return guard(static_cast<uh_library_block*>(nullptr), [&] {
    auto* block = new uh_library_block{text_or(name_space, ""),
                                       static_cast<Library::Kind>(kind),
                                       run,
                                       context,
                                       text_or(location, "an unknown place"),
                                       nullptr};
    const std::lock_guard lock(load_lock());
    alive().push_back(block);
    if (t_loading) {
      t_loading->push_back(block);
      return block;
    }
    waiting().push_back(block);
    if (g_initialised) run_waiting();
    return block;
  });
}
void uh_library_block_free(uh_library_block* block) {
  const std::lock_guard lock(load_lock());
  if (t_loading) t_loading->remove(block);
  waiting().remove(block);
  alive().remove(block);
  delete block;
}
int uh_library_load(const char* path) {
  return guard(-1, [&] {
    initialise();
    const OutsideCalls host;
    load_object(text_or(path, ""));
    return 0;
  });
}
