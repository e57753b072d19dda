"""The keys that are typed, one after the other: the next goes out when all that the last one did is done.

Textual hands a key to whatever has the focus when it comes. Between a key that opens a screen and the
moment its line has the focus there are many turns of the event loop; whatever is typed in that time would
go to the screen below, and a key with priority (Esc, ctrl+c) would overtake the letters before it. On a
fast machine nobody types so fast; on a slow one, or by pasting, everybody does.
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

LIMIT = 30.0  # seconds until a key that is not done does not hold up the others any more
TURNS = 2, 10  # a key may make one message that makes another: fewest and most rounds to wait for

Typed = events.Key | events.Paste


class KeyQueue:
    """The keys that wait, and the task that lets them out. `forward` is what the application would
    have done with a key."""

    def __init__(self, app: App[Any], forward: Callable[[Typed], Awaitable[None]]) -> None:
        self._app, self._forward = app, forward
        self._waiting: deque[Typed] = deque()
        self._task: asyncio.Task[None] | None = None
        self._open = False
        self._seen: Screen[Any] | None = None  # has been drawn, has its focus

    def open(self) -> None:
        """The first screen is there: what was typed before goes to it."""
        self._open = True
        self._task = asyncio.create_task(self._go_on([]))

    def close(self) -> None:
        """The application ends."""
        if self._task is not None:
            self._task.cancel()

    async def take(self, event: Typed) -> None:
        """A key: now, or when it is its turn."""
        if self._task is None and self._open and self._app.screen is self._seen:
            reached = self._reached()
            await self._forward(event)
        else:
            self._waiting.append(event)
            reached = []
        if self._task is None and self._open:
            self._task = asyncio.create_task(self._go_on(reached))

    async def done(self) -> None:
        """Wait until nothing typed is on its way any more."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _go_on(self, reached: list[MessagePump]) -> None:
        """Wait for the last key, then let out those that came meanwhile, each in its turn."""
        try:
            await self._settled(reached)
            while self._waiting and self._app.is_running:
                reached = self._reached()
                await self._forward(self._waiting.popleft())
                await self._settled(reached)
        except Exception as error:  # an action of ours failed: as in any other task of Textual
            self._app._handle_exception(error)
        finally:
            self._task = None

    def _reached(self) -> list[MessagePump]:
        """The widgets that see a key, from the inside out."""
        return [*(self._app.focused or self._app.screen).ancestors_with_self]

    async def _settled(self, reached: list[MessagePump]) -> None:
        """Everyone whom the key reached has done with it and with what came of it; a screen that it
        opened or uncovered has been drawn and has its focus."""
        end = asyncio.get_running_loop().time() + LIMIT
        await self._idle(reached, end)
        while self._app.is_running and self._app.screen is not self._seen:
            self._seen = screen = self._app.screen
            await self._answered(screen.call_after_refresh, screen, end)
            await self._idle(self._reached(), end)

    async def _idle(self, nodes: list[MessagePump], end: float) -> None:
        fewest, most = TURNS
        for turn in range(most):
            if turn >= fewest and not any(node.message_queue_size for node in nodes):
                return
            for node in nodes:
                await self._answered(node.call_later, node, end)

    async def _answered(
        self, ask: Callable[[Callable[[], Any]], bool], node: MessagePump, end: float
    ) -> None:
        """Wait for what has been put in at the end of somebody's queue, if he is there to the end."""
        passed = asyncio.Event()
        if not ask(passed.set):
            return
        while node.is_running and not passed.is_set():
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                return
            with suppress(TimeoutError):  # asked again: it may be gone meanwhile
                await asyncio.wait_for(passed.wait(), min(left, 0.1))
