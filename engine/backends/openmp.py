"""OpenMP, which the engine does not use: it has its own threads, see `engine.set_num_threads`."""


def is_available() -> bool:
    """Return False: the engine does not use OpenMP."""
    return False
