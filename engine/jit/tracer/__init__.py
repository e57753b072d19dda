"""`jit.trace`: the recording of a run as a graph.

Reading order: `trace` (functions), `module` (modules), `tensors` (sizes, conversions and indices),
`scopes` (calls of modules), `frames` (Python values that a trace follows).
"""
