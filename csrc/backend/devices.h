// The devices of this library: one line each, called when the engine is first used.
#pragma once

namespace uh {

void register_cpu();   // backend/cpu
void register_meta();  // backend/meta
void register_opencl();  // backend/opencl

inline void register_devices() {
  register_cpu();
  register_meta();
  register_opencl();
}

}  // namespace uh
