"""Logs to standard error, as JSON or for people, from Gossamer and from its libraries."""

import logging
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar, Token
from io import StringIO
from typing import TextIO

import structlog

from gossamer import clock
from gossamer.terminal import escape_controls


def configure_logs(as_json: bool, level: str = "info", **always: str) -> None:
    """Log to standard error, as JSON lines or as text for people, with the fields *always* on each
    line.

    Warnings of libraries are included.
    """
    global _min_level
    _min_level = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            lambda logger, method, event: {**always, **event},
            _add_fields,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_AS_JSON if as_json else _as_text()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_min_level),
        logger_factory=lambda *_: _Lines(sys.stderr),
    )
    root = logging.getLogger()
    others = [handler for handler in root.handlers if not isinstance(handler, _FromLibraries)]
    root.handlers = [*others, _FromLibraries()]


_min_level = logging.NOTSET


def is_debug() -> bool:
    """Return whether lines at debug level are written. To ask a logger costs ten calls."""
    return _min_level <= logging.DEBUG


Fields = Callable[[], Mapping[str, object]]
_fields = ContextVar[Fields | None]("_fields", default=None)


class LogFields(AbstractContextManager[None]):
    """Adds fields to all log lines in a block. *make* returns them when a line is written, since
    nothing is written in most blocks."""

    def __init__(self, make: Fields) -> None:
        self._make = make

    def __enter__(self) -> None:
        self._token: Token[Fields | None] = _fields.set(self._make)

    def __exit__(self, *_: object) -> None:
        _fields.reset(self._token)


def _add_fields(
    logger: object, method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    make = _fields.get()
    return {**make(), **event} if make else event


SUPPRESSION_SECONDS = 10.0
"""Seconds for which a repeated message of a library is suppressed."""
SUPPRESSION_CACHE_SIZE = 1000
"""Maximum number of messages that are remembered to suppress repetitions."""
_NUMBER = re.compile(r"\d+")


def _as_json(logger: object, method: str, event: structlog.types.EventDict) -> str:
    line = structlog.processors.JSONRenderer()(logger, method, event)
    return escape_controls(line if isinstance(line, str) else line.decode())


_AS_JSON: list[structlog.types.Processor] = [structlog.processors.format_exc_info, _as_json]


def _as_text() -> list[structlog.types.Processor]:
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        # The default also shows local variables, which may be whole pages of the Web.
        exception_formatter=_traceback,
    )
    return [_without_controls, renderer]


def _without_controls(
    logger: object, method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Escape control characters in texts. The renderer shows other values by `repr`, which escapes
    them."""
    return {
        name: escape_controls(value) if isinstance(value, str) else value
        for name, value in event.items()
    }


def _traceback(out: TextIO, error: structlog.typing.ExcInfo) -> None:
    text = StringIO()
    structlog.dev.plain_traceback(text, error)
    out.write(escape_controls(text.getvalue(), keep="\n"))


class _Lines(structlog.WriteLogger):
    """Writes each line in one call, since several processes share the stream.

    A closed stream does not stop the process.
    """

    def msg(self, message: str) -> None:
        """Write *message*, or drop it if that fails."""
        with suppress(OSError, ValueError):
            super().msg(message)

    debug = info = warning = error = critical = msg


class _FromLibraries(logging.Handler):
    """Passes on warnings and errors that libraries log through the standard library.

    A client that has lost its server repeats itself many times a second. Messages that differ only
    in numbers are therefore passed on at most once in `SUPPRESSION_SECONDS` seconds.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._logged_at: dict[tuple[str, str], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Pass *record* on, unless a similar one was logged a moment ago."""
        text, now = record.getMessage(), clock.steady()
        like = record.name, _NUMBER.sub("", text)
        if now - self._logged_at.get(like, float("-inf")) < SUPPRESSION_SECONDS:
            return
        if len(self._logged_at) > SUPPRESSION_CACHE_SIZE:
            self._logged_at.clear()
        self._logged_at[like] = now
        fields = {"logger": record.name, "exc_info": record.exc_info or None}
        structlog.get_logger().log(record.levelno, text, **fields)
