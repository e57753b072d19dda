#include "capi/guard.h"

#include <exception>
#include <new>

namespace uh {

void remember_failure(const char* op) {
  try {
    throw;
  } catch (const HostReadError& error) {
    set_last_error(error.kind(), op ? message(op, ": ", error.what()).c_str() : error.what());
  } catch (const Error& error) {
    set_last_error(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    set_last_error(ErrorKind::kMemory, "out of memory");
  } catch (const std::exception& error) {
    set_last_error(ErrorKind::kInternal, error.what());
  }
}

}  // namespace uh
