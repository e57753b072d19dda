"""PyTorch's older interface to profiles: `autograd.profiler.profile` records at once and shows the same tables."""

from __future__ import annotations

from typing import Any

from engine.profiler import kineto_available as kineto_available
from engine.profiler import profile as _profile
from engine.profiler import record_function as record_function
from engine.profiler.averages import EventList as EventList

__all__ = ["EventList", "kineto_available", "profile", "record_function"]


class profile(_profile):
    """Profiles the operators of a block; with `enabled=False` it does nothing.

    `use_cpu`, `use_device`, `use_kineto` and similar are accepted without effect: it is always the CPU.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        profile_memory: bool = False,
        **unused: Any,
    ) -> None:
        super().__init__(record_shapes=record_shapes, profile_memory=profile_memory)
        self.enabled = enabled

    def start(self) -> None:
        if self.enabled:
            super().start()

    @property
    def function_events(self) -> Any:
        """The spans."""
        return self.events()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Return the spans as a table."""
        return self.events().table(sort_by=sort_by, row_limit=row_limit, **options)

    def total_average(self) -> Any:
        """Return the sum over all spans."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all spans without that of those inside, in microseconds."""
        return sum(event.self_cpu_time_total for event in self.events())
