"""The graphs of the core, under the names of `torch._C`: Graph, Block, Node, Value, Use."""
