#include "dispatch/record_call.h"

#include "dispatch/library.h"

namespace uh {

void record_hop(const OperatorInfo& op, Key key, KeySet keys) {
  events::emit(events::Kind::kHOP, current_call(), recorded_schema(op), recorded_number(key),
               recorded_bits(keys), op.recorded_kernel(key));
}

CallRecord::CallRecord(const OperatorInfo& op)
    : op_(recorded_schema(op)), call_(next_id(IdSpace::kCall)) {}

CallRecord::~CallRecord() = default;

void CallRecord::none() { put(0); }
void CallRecord::argument(const Tensor& t) { t ? put(1, t.id()) : put(0); }
void CallRecord::argument(const Operand& o) {
  o.is_number() ? argument(o.number) : argument(o.tensor);
}
void CallRecord::argument(bool v) { put(4, v); }
void CallRecord::argument(int64_t v) { put(2, v); }
void CallRecord::argument(double v) { put(3, std::bit_cast<int64_t>(v)); }
void CallRecord::argument(DType v) {
  v == DType::kUndefined ? put(0) : put(8, static_cast<int64_t>(v));
}
void CallRecord::argument(Device v) { v == Device::kUndefined ? put(0) : put(9, v.code()); }
void CallRecord::argument(MemoryFormat v) {
  v == MemoryFormat::kUndefined ? put(0) : put(2, static_cast<int64_t>(v));
}
void CallRecord::argument(const std::string& text) { put(6, events::intern(text)); }

void CallRecord::argument(const Scalar& s) {
  if (s.is_complex()) {
    put(11, std::bit_cast<int64_t>(s.to_complex().re));
    arguments_.push(std::bit_cast<int64_t>(s.imag()));
  } else if (s.is_float())
    argument(s.to_double());
  else if (s.kind() == Scalar::Kind::kBool)
    argument(s.to_bool());
  else
    argument(s.to_int());
}

void CallRecord::argument(const Dims& dims) {
  put(5, dims.ndim());
  for (int64_t d : dims) arguments_.push(d);
}

void CallRecord::argument(const std::vector<Tensor>& list) {
  put(7, static_cast<int64_t>(list.size()));
  for (const Tensor& t : list) arguments_.push(t ? t.id() : 0);
}

void CallRecord::argument(const std::vector<double>& list) {
  put(10, static_cast<int64_t>(list.size()));
  for (double v : list) arguments_.push(std::bit_cast<int64_t>(v));
}

void CallRecord::enter() {
  events::emit_blob(events::Kind::kOP_ENTER, call_, op_, current_call(), n_args_, arguments_.data(),
                    arguments_.size() * 8);
  scope_.emplace(call_);
}

void CallRecord::result(const Tensor& t) { results_.push(t ? t.id() : 0); }
void CallRecord::result(const std::vector<Tensor>& list) {
  for (const Tensor& t : list) result(t);
}

void CallRecord::leave() {
  auto id = [&](size_t i) { return i < results_.size() ? results_.data()[i] : 0; };
  events::emit(events::Kind::kOP_EXIT, call_, static_cast<int64_t>(results_.size()), id(0), id(1),
               id(2));
}

void CallRecord::failed(const Error& error) {
  const std::string_view text = error.what();
  events::emit_blob(events::Kind::kERROR, call_, op_, static_cast<int64_t>(error.kind()), 0,
                    text.data(), text.size());
}

}  // namespace uh
