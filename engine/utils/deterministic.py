"""A switch of `use_deterministic_algorithms`: new memory is not filled, as operators here never read it."""

fill_uninitialized_memory = True
