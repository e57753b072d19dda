// Registration of the kernels, one function per family.
#pragma once

namespace uh::opencl {

void register_convolution();
void register_generate();
void register_index();
void register_join();
void register_loss();
void register_optim();
void register_pooling();
void register_random();
void register_recurrent();
void register_resample();
void register_scan();
void register_sort();

inline void register_families() {
  register_convolution();
  register_generate();
  register_index();
  register_join();
  register_loss();
  register_optim();
  register_pooling();
  register_random();
  register_recurrent();
  register_resample();
  register_scan();
  register_sort();
}

}  // namespace uh::opencl
