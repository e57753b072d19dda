"""Types of the language, and the core's values of these types.

Reading order: `jit_type` (Type and its relations), `ivalues` (Python values as values of the core and
back), `enums`, `type_introspection` (what `value.type()` returns).
"""
