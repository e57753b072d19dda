"""PyTorch's module of AdamW, which is here one of the forms of Adam."""

from engine.optim.adam import AdamW as AdamW
