// A toy device: memory that the host cannot address, and three kernels.
#pragma once

namespace uh::toy {

void register_toy();  // as DeviceType::kPrivateUse1, under the name "toy"; once

}  // namespace uh::toy
