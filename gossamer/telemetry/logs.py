"""Logs: lines on standard error, for programs or for a person, from us and from libraries."""

import logging
import re
import sys
from contextlib import suppress
from io import StringIO
from typing import TextIO

import structlog

from gossamer import clock
from gossamer.terminal import escaped


def configure_logs(as_json: bool, level: str = "info", **always: str) -> None:
    """Log to standard error, as JSON lines or for a person to read, with *always* on each line.

    Warnings of libraries go the same way.
    """
    structlog.configure(
        processors=[
            lambda logger, method, event: {**always, **event},
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_AS_JSON if as_json else _for_a_person()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=lambda *_: _Lines(sys.stderr),
    )
    root = logging.getLogger()
    others = [handler for handler in root.handlers if not isinstance(handler, _FromLibraries)]
    root.handlers = [*others, _FromLibraries()]


REPEATED = 10.0
"""Seconds during which a library's message is not repeated."""
MESSAGES_LIMIT = 1000
"""Messages that are remembered so that they are not repeated."""
_NUMBER = re.compile(r"\d+")


def _as_json(logger: object, method: str, event: structlog.types.EventDict) -> str:
    line = structlog.processors.JSONRenderer()(logger, method, event)
    return escaped(line if isinstance(line, str) else line.decode())


_AS_JSON: list[structlog.types.Processor] = [structlog.processors.format_exc_info, _as_json]


def _for_a_person() -> list[structlog.types.Processor]:
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        # The default shows every local variable too: whole pages of the Web.
        exception_formatter=_traceback,
    )
    return [_without_controls, renderer]


def _without_controls(
    logger: object, method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Escape texts; whatever else there is the renderer shows by its `repr`, which does so too."""
    return {
        name: escaped(value) if isinstance(value, str) else value for name, value in event.items()
    }


def _traceback(out: TextIO, error: structlog.typing.ExcInfo) -> None:
    text = StringIO()
    structlog.dev.plain_traceback(text, error)
    out.write(escaped(text.getvalue(), keep="\n"))


class _Lines(structlog.WriteLogger):
    """Writes each line in one call, since several processes share the stream.

    A stream that nobody reads any more stops no work.
    """

    def msg(self, message: str) -> None:
        """Write *message*; drop it if it cannot be written."""
        with suppress(OSError, ValueError):
            super().msg(message)

    debug = info = warning = error = critical = msg


class _FromLibraries(logging.Handler):
    """Passes on what libraries log through the standard library, warnings and above.

    A client that has lost its server repeats itself many times a second: of messages that differ in
    numbers only, one is passed on every few seconds.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._logged_at: dict[tuple[str, str], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Log *record* as ours, unless its like was logged a moment ago."""
        text, now = record.getMessage(), clock.steady()
        like = record.name, _NUMBER.sub("", text)
        if now - self._logged_at.get(like, float("-inf")) < REPEATED:
            return
        if len(self._logged_at) > MESSAGES_LIMIT:
            self._logged_at.clear()
        self._logged_at[like] = now
        fields = {"logger": record.name, "exc_info": record.exc_info or None}
        structlog.get_logger().log(record.levelno, text, **fields)
