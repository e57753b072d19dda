"""A switch of `use_deterministic_algorithms`, without effect: new memory is not filled, because operators
never read it uninitialised."""

fill_uninitialized_memory = True
