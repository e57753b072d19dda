"""Placeholders for PyTorch's compiled attention with a score function, which is not supported."""

from engine.unsupported import module_getattr

_NAMES = (
    "AuxRequest BlockMask and_masks create_block_mask create_mask create_nested_block_mask flex_attention "
    "noop_mask or_masks"
)
__all__ = _NAMES.split()

__getattr__ = module_getattr(
    "nn.attention.flex_attention",
    _NAMES,
    "use scaled_dot_product_attention with attn_mask",
    globals(),
)
