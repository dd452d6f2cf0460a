"""Declare a region of a program: ``with coldsoak.region("load"):``.

Outside a measured process this does nothing, in less than a microsecond, and imports nothing.
"""

# ruff: noqa: ANN401, SLF001 - decorated functions are anything; the frame tells who calls

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from types import FrameType, TracebackType

    from typing_extensions import Self

__all__ = ["region"]

_F = TypeVar("_F", bound="Callable[..., Any]")


class _Done:
    """An awaitable that is done: entering and leaving a region never waits."""

    __slots__ = ("_value",)

    def __init__(self, value: object = None) -> None:
        self._value = value

    def __await__(self) -> Generator[None, None, object]:
        yield from ()
        return self._value


class region:  # noqa: N801 - reads as a statement
    """A named stretch of the program, as a context manager or a decorator.

    ``with``, ``async with``, and ``@region("name")`` on functions and coroutine functions; regions
    nest, and one object may be entered again, by several threads and coroutines at once.

    Args:
        name: What the report calls it.
        **case: Short values that tell one use of the region from another (``shape=(50, 50)``);
            each case is a series of its own.

    """

    __slots__ = ("_agent", "_case", "_name", "_open")

    def __init__(self, name: str, /, **case: object) -> None:
        self._name = name
        self._case = case
        self._agent: Any = _agent() if "coldsoak_agent" in sys.modules else None
        if self._agent is not None:
            self._open: list[tuple[FrameType, object]] = []

    def __enter__(self) -> Self:
        if self._agent is not None:
            self._begin(sys._getframe(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._agent is not None:
            self._end(sys._getframe(1))

    def __aenter__(self) -> Awaitable[Self]:
        if self._agent is not None:
            self._begin(sys._getframe(1))
        return cast("Awaitable[Self]", _Done(self))

    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Awaitable[None]:
        if self._agent is not None:
            self._end(sys._getframe(1))
        return cast("Awaitable[None]", _Done())

    def _begin(self, frame: FrameType) -> None:
        self._open.append((frame, self._agent.enter(self._name, self._case, frame)))

    def _end(self, frame: FrameType) -> None:
        """Leave the latest entry from this very frame; ``ExitStack`` leaves from another one."""
        opened = self._open
        for i in range(len(opened) - 1, -1, -1):
            if opened[i][0] is frame:
                self._agent.leave(opened.pop(i)[1])
                return
        if opened:
            self._agent.leave(opened.pop()[1])

    def __call__(self, function: _F) -> _F:
        """Decorate a function: each call is one execution of the region."""
        if self._agent is None:
            return function
        import functools
        import inspect

        name, case, agent = self._name, self._case, self._agent

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                handle = agent.enter(name, case, sys._getframe(1))
                try:
                    return await function(*args, **kwargs)
                finally:
                    agent.leave(handle)

            return cast("_F", run_async)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            handle = agent.enter(name, case, sys._getframe(1))
            try:
                return function(*args, **kwargs)
            finally:
                agent.leave(handle)

        return cast("_F", run)


def _agent() -> Any:
    """Return the agent's side, loaded at the first declared region of a measured process."""
    import importlib

    try:
        return importlib.import_module("coldsoak_agent.region")
    except ImportError:
        return None
