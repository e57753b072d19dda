"""`jit.trace`: a run recorded as a graph.

Reading order: `trace` (functions), `module` (modules), `tensors` (what is read from tensors), `scopes`
(calls of modules), `frames` (Python values that a trace follows).
"""
