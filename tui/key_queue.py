"""A queue of typed keys: each is forwarded when everything that the previous one caused is done.

Textual forwards a key to the widget that has the focus when it arrives. A key that opens a screen takes many
iterations of the event loop until the input line of that screen has the focus. Keys typed in the meantime would
go to the screen below, and a key with priority (Esc, ctrl+c) would overtake the letters before it. On a
slow machine, or with pasted text, this happens all the time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual import events

if TYPE_CHECKING:
    from textual.app import App
    from textual.message_pump import MessagePump
    from textual.screen import Screen

LIMIT = 30.0  # seconds after which an unfinished key no longer delays the others
TURNS = (
    2,
    10,
)  # minimum and maximum iterations to wait: a key may post a message that posts another

PASSING = ("escape", "ctrl+q", "ctrl+c")  # keys that do not wait for a screen
Typed = events.Key | events.Paste


class KeyQueue:
    """The waiting keys, and the task that forwards them. `forward` is the application's own
    handler of a key."""

    def __init__(self, app: App[Any], forward: Callable[[Typed], Awaitable[None]]) -> None:
        self._app, self._forward = app, forward
        self._waiting: deque[Typed] = deque()
        self._task: asyncio.Task[None] | None = None
        self._open = False
        self._seen: Screen[Any] | None = None  # the screen that has been drawn and has a focus
        self._holding: Screen[Any] | None = None  # the screen that is not ready for keys
        self.forwarded = 0  # keys that have been forwarded

    def open(self) -> None:
        """Start forwarding to the first screen, beginning with earlier keys."""
        self._open = True
        self._task = asyncio.create_task(self._forward_waiting([]))

    def close(self) -> None:
        """Stop forwarding at the end of the application."""
        if self._task is not None:
            self._task.cancel()

    def hold(self, screen: Screen[Any]) -> None:
        """Delay keys while this screen is active, until `release`: it is still reading."""
        self._holding = screen

    def release(self, screen: Screen[Any]) -> None:
        """Forward the keys that waited for a screen, which is ready or was left."""
        if self._holding is screen:
            self._holding = None
            if self._open and self._waiting and self._task is None:
                self._task = asyncio.create_task(self._forward_waiting([]))

    @property
    def _blocked(self) -> bool:
        return self._holding is not None and self._app.screen is self._holding

    def _passes(self, key: str) -> bool:
        """Return whether a key is forwarded at once; `q` is not if others wait before it."""
        return key in PASSING or (key == "q" and not self._waiting)

    async def take(self, event: Typed) -> None:
        """Forward a key now, or after the waiting ones."""
        if self._blocked and isinstance(event, events.Key) and self._passes(event.key):
            self._waiting.clear()  # it cancels what the other keys were typed for
            await self._send(event)
            return
        if self._blocked and self._open and self._task is None:
            self._waiting.append(event)
            return
        if self._task is None and self._open and self._app.screen is self._seen:
            reached = self._reached()
            await self._send(event)
        else:
            self._waiting.append(event)
            reached = []
        if self._task is None and self._open:
            self._task = asyncio.create_task(self._forward_waiting(reached))

    async def done(self) -> None:
        """Wait until all typed keys have been forwarded and handled."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _forward_waiting(self, reached: list[MessagePump]) -> None:
        """Wait for the last key, then forward the keys typed in the meantime, one by one."""
        try:
            await self._settled(reached)
            while self._waiting and self._app.is_running and not self._blocked:
                reached = self._reached()
                await self._send(self._waiting.popleft())
                await self._settled(reached)
        except Exception as error:  # an action failed: handled like any exception in a Textual task
            self._app._handle_exception(error)
        finally:
            self._task = None

    async def _send(self, event: Typed) -> None:
        self.forwarded += 1
        await self._forward(event)

    def _reached(self) -> list[MessagePump]:
        """Return the widgets that receive a key, innermost first."""
        return [*(self._app.focused or self._app.screen).ancestors_with_self]

    async def _settled(self, reached: list[MessagePump]) -> None:
        """Wait until every widget that the key reached has handled it and its consequences, and a screen
        that it opened or uncovered has been drawn and has its focus."""
        end = asyncio.get_running_loop().time() + LIMIT
        await self._idle(reached, end)
        while self._app.is_running and self._app.screen is not self._seen:
            self._seen = screen = self._app.screen
            await self._answered(screen.call_after_refresh, screen, end)
            await self._idle(self._reached(), end)

    async def _idle(self, nodes: list[MessagePump], end: float) -> None:
        minimum, maximum = TURNS
        for turn in range(maximum):
            if turn >= minimum and not any(node.message_queue_size for node in nodes):
                return
            for node in nodes:
                await self._answered(node.call_later, node, end)

    async def _answered(
        self, ask: Callable[[Callable[[], Any]], bool], node: MessagePump, end: float
    ) -> None:
        """Wait for a callback at the end of a node's queue, unless the node stops before."""
        passed = asyncio.Event()
        if not ask(passed.set):
            return
        while node.is_running and self._app.return_code is None and not passed.is_set():
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                return
            with suppress(TimeoutError):  # checked again: the node may have stopped
                await asyncio.wait_for(passed.wait(), min(left, 0.1))
