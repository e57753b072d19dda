"""A small part of the search in memory_programs.py."""

from memory_programs import search


def test_random_programs_over_shared_memory_equal_the_model() -> None:
    done, raised = search(seed=0, count=250, steps=25)
    assert done > 3000
    assert raised > 500
