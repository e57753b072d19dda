"""The files of `save` and `load`: tensors to and from safetensors, and to and from PyTorch's `.pt`."""
