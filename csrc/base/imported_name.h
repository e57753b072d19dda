// The name under which a Python program imports the library: messages that name its functions begin
// with it.
#pragma once

namespace uh {

const char* imported_name();  // "engine" unless it was set
void set_imported_name(const char* name);

}  // namespace uh
