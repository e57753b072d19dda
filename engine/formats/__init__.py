"""File formats that contain tensors, read without executing anything: the standard library only.

`engine.serialization` creates tensors from them, `engine.inspect` lists what they contain.
"""
