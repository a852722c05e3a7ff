"""A file in which a host states the use of its pages: `tdmrep.json`, or a license of robots.txt.

A file has statements for patterns of paths, which match as in robots.txt. It is fetched by a visit
of its own and cached like a robots.txt.

Each unread part counts as reserved, and the `fault` of the file is the reason. A response without
any sign of the format says nothing: many servers answer every path with a page.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.path_patterns import compile_pattern, url_octets
from gossamer.web.usage.statements import Statement

TDMREP_PATH = "/.well-known/tdmrep.json"
MAX_STATEMENTS = 200
"""Maximum number of statements that are read from one file."""
MAX_PATTERN_LENGTH = 500
"""Characters. The rest of a longer pattern is not read."""
MAX_CARRIED_STATEMENTS = 20
"""An order carries only the statements about its URLs of a file with more statements."""


_broken_escape = re.compile("%[0-9A-Fa-f]?$")


class Malformed(Exception):
    """A file has no sign of its format; the text says what it is instead."""


class FileStatement(Struct, frozen=True):
    """A statement about the pages whose paths match a pattern."""

    pattern: str
    """A path in which `*` matches anything, and a final `$` the end."""
    statement: Statement
    is_unread: bool = False
    """Whether it is in place of a part of a license file that was not read. It counts beside the
    statements that decide."""


class ReadFile(NamedTuple):
    """The statements of a file, and why parts of it are unread."""

    statements: tuple[FileStatement, ...]
    fault: str = ""
    """Why a part was not read; "" if all was."""


class UsageFile(Struct, frozen=True):
    """The statements of a usage file of one host, and when they expire."""

    url: str
    """The URL of the file."""
    statements: tuple[FileStatement, ...] = ()
    """In the order of the file."""
    fault: str = ""
    """Why the file or a part of it was not read, for people; "" if all was read."""
    fetched_at: float = 0.0
    expires_at: float = 0.0
    status: int = 0
    """The status of the response; 0: no response."""

    @property
    def is_tdmrep(self) -> bool:
        """Whether the file is the `tdmrep.json` of its host."""
        return is_tdmrep(self.url)

    def statements_about(self, url: str) -> tuple[Statement, ...]:
        """Return the statements that decide about *url*, a page of the host.

        In `tdmrep.json` the first matching entry decides. In a license file the longest matching
        pattern does, with all its licenses. What was not read of it counts, too.
        """
        path = url_octets(url)
        found = [one for one in self.statements if compile_pattern(one.pattern).matches(path)]
        if not found:
            return ()
        if self.is_tdmrep:
            return (found[0].statement,)
        read = [one.pattern for one in found if not one.is_unread]
        longest = max((compile_pattern(pattern).octets for pattern in read), default=0)
        return tuple(
            one.statement
            for one in found
            if one.is_unread or compile_pattern(one.pattern).octets == longest
        )

    def narrow_to(self, urls: Iterable[str]) -> "UsageFile":
        """Return a file of limited size for an order that says the same about *urls*."""
        if len(self.statements) <= MAX_CARRIED_STATEMENTS:
            return self
        deciding = [one for url in urls for one in self.statements_about(url)]
        return replace(
            self, statements=tuple(one for one in self.statements if one.statement in deciding)
        )


def is_tdmrep(url: str) -> bool:
    """Return whether *url* is that of a `tdmrep.json`."""
    return url.endswith(TDMREP_PATH) and url_octets(url) == TDMREP_PATH


def statements_about(files: Iterable[UsageFile], url: str) -> tuple[Statement, ...]:
    """Return the statements of *files*, the usage files of one host, that decide about *url*."""
    return tuple(one for file in files for one in file.statements_about(url))


def shorten_pattern(text: str) -> str:
    """Return the pattern *text*; or, if it is too long or has octets that are not UTF-8, one that
    matches at least as much."""
    start = text[:MAX_PATTERN_LENGTH].partition("\N{REPLACEMENT CHARACTER}")[0]
    return text if start == text else f"{_broken_escape.sub('', start)}*"
