"""PyTorch's module of AdamW, which is defined with Adam here."""

from engine.optim.adam import AdamW as AdamW
