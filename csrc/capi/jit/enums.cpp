// The C ABI of Enums and classes: see underhood_jit_run.h.
#include "capi/convert.h"
#include "capi/returned_string.h"
#include "capi/underhood_jit_run.h"
#include "jit/ir/type.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

namespace {
EnumType& enum_named(uh_enum handle) {
  check(handle != 0, "enum: the handle is 0");
  return *reinterpret_cast<EnumType*>(handle);
}
}  // namespace

const char* uh_box_type(uh_box self) {
  return text_of([&] {
    check(self != 0, "box: the handle is 0");
    return type_of(IValue(Ref<Container>::share(reinterpret_cast<Container*>(self))))->text();
  });
}
int uh_class_set_plain(uh_class self) {
  return done([&] {
    check(self != 0, "class: the handle is 0");
    reinterpret_cast<Methods*>(self)->type().set_plain();
  });
}

uh_enum uh_enum_new(const char* name, const char* const* names, const uh_value* values, int64_t n) {
  return guard(0, [&] {
    EnumType::Members members;
    for (int64_t i = 0; i < n; ++i) members.emplace_back(names[i], read_value(values[i]));
    return reinterpret_cast<uint64_t>(make_ref<EnumType>(name, std::move(members)).leak());
  });
}
uh_enum uh_enum_find(const char* name) {
  return guard(0, [&]() -> uint64_t {
    TypeRef type = find_class(name);
    if (!type || !type->is(TypeKind::kEnum)) return 0;
    return reinterpret_cast<uint64_t>(static_cast<EnumType*>(type.leak()));
  });
}
void uh_enum_release(uh_enum self) {
  if (self) Ref<EnumType>::adopt(reinterpret_cast<EnumType*>(self));
}
int64_t uh_enum_size(uh_enum self) {
  return guard(-1, [&] { return static_cast<int64_t>(enum_named(self).members().size()); });
}
uh_box uh_enum_member(uh_enum self, int64_t i) {
  return guard(0, [&] {
    const auto& members = enum_named(self).members();
    check_kind(i >= 0 && static_cast<size_t>(i) < members.size(), ErrorKind::kIndex,
               "enum: member ", i, " of ", members.size());
    const IValue member = enum_named(self).member(members[static_cast<size_t>(i)].first);
    return reinterpret_cast<uint64_t>(Ref<Container>(*member.get_if<Ref<Container>>()).leak());
  });
}
