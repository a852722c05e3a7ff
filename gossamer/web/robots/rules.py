"""The rules of a robots.txt that apply to us: evaluation for a URL, and the part for an order.

The RFC leaves two choices. Google's `index.html` rule (allowing it allows its folder) is not
implemented, because it grants a permission that is not in the file. The longest of several
Crawl-delays counts.
"""

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from gossamer.cache import ByteCache
from gossamer.web.path_patterns import (
    Matcher,
    TooManyPatterns,
    compile_pattern,
    literal_pattern,
    url_octets,
)
from gossamer.web.usage import Statement, read_line

PATH = "/robots.txt"
REDIRECTS = 5
"""Maximum number of redirects that are followed, to any host (2.3.1.2)."""
MAX_CARRIED_BYTES = 50_000
"""Bytes. Of larger rules an order carries only those that decide about its URLs."""
COMPILED_BYTES = 64 << 20
"""Bytes of memory for cached matchers."""
COMPILED_SIZE = 40
"""Bytes of a matcher for each character of the rules' text, measured for files of 500 KiB."""


class Rule(Struct, frozen=True, gc=False):
    """One Allow or Disallow line of the groups that apply to us."""

    allow: bool
    pattern: str
    """As in the file, with characters outside printable ASCII escaped."""
    line: int

    @property
    def as_line(self) -> str:
        """Return the rule in the form of `RobotsRules.lines`."""
        return f"{self.line} {'+' if self.allow else '-'} {self.pattern}"

    def __str__(self) -> str:
        """Return the rule with its line number, for a person to find it."""
        if not self.line:
            return "too many rules of robots.txt are candidates for this URL"
        return f"line {self.line}: {'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class Usage(Struct, frozen=True):
    """A line about the usage of pages, not about visiting them."""

    name: str
    """`content-usage` (draft-ietf-aipref-attach) or `content-signal` (contentsignals.org)."""
    value: str
    """As in the file, such as `train-ai=n`."""
    pattern: str = "/"
    line: int = 0
    """The number of the line in the file."""


class LicenseLine(Struct, frozen=True):
    """A `License` line: the URL of a file with licenses of the pages (rslstandard.org)."""

    url: str
    line: int


class RobotsRules(Struct, frozen=True):
    """The valid rules of one host, and when they expire.

    They are stored as text and compiled on demand: the matcher of one large file takes 20 MB.
    """

    lines: str = ""
    """The rules, a line each: the number of its line in the file, + (Allow) or - (Disallow), and
    the pattern, separated by spaces."""
    crawl_delay: float = 0.0
    forbidden: str = ""
    """Why everything is disallowed, if the file could not be fetched (2.3.1.4); else ""."""
    fetched_at: float = 0.0
    expires_at: float = 0.0
    status: int = 0
    """Status of the response; 0: no response, or not requested yet."""
    usage: tuple[Usage, ...] = ()
    unread_usage: tuple[Statement, ...] = ()
    """Statements about all pages in place of usage and license lines that were not read."""
    licenses: tuple[LicenseLine, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of `lines`."""
        parts = (line.split(" ", 2) for line in self.lines.split("\n") if line)
        return tuple(Rule(sign == "+", pattern, int(number)) for number, sign, pattern in parts)

    def allows(self, url: str) -> bool:
        """Return whether *url* may be visited."""
        if _is_robots_txt(url):
            return True
        rule = self.deciding_rule(url)
        return not self.forbidden and (rule is None or rule.allow)

    def deciding_rule(self, url: str) -> Rule | None:
        """Return the matching rule with the most octets, Allow before Disallow (2.2.2), or None.

        If there are too many candidates, return a rule of line 0 that disallows only this URL.
        """
        if _is_robots_txt(url) or not self.lines:
            return None
        try:
            return _matcher(self).find_rule(url_octets(url))
        except TooManyPatterns:
            return Rule(False, literal_pattern(url_octets(url)), 0)

    def explain(self, url: str) -> str:
        """Return a sentence for people: the rule that decides about *url*."""
        if _is_robots_txt(url):
            return f"{PATH} itself may always be visited"
        return self.forbidden or str(self.deciding_rule(url) or "no rule of robots.txt applies")

    def usage_of(self, url: str) -> tuple[Statement, ...]:
        """Return the usage statements for the page at *url*.

        Among lines with the same key, those with the longest matching path count, in octets.
        Several of them are separate statements (draft-ietf-aipref-attach-04, 3.1). What was not
        read counts, too.
        """
        found: dict[str, tuple[int, list[Statement]]] = {}
        for line in self.usage:
            pattern = compile_pattern(line.pattern)
            octets, statements = found.get(line.name, (0, []))
            if pattern.octets < octets or not pattern.matches(url_octets(url)):
                continue
            if pattern.octets > octets:
                statements = []
            found[line.name] = pattern.octets, [*statements, _read_usage(line)]
        read = (one for _octets, statements in found.values() for one in statements)
        return *read, *self.unread_usage

    def narrow_to(self, urls: Iterable[str]) -> "RobotsRules":
        """Return rules of limited size for an order that decide the same about *urls*."""
        if len(self.lines) <= MAX_CARRIED_BYTES:
            return self
        deciding = dict.fromkeys(rule for url in urls if (rule := self.deciding_rule(url)))
        return replace(self, lines=format_rules(deciding))


def format_rules(rules: Iterable[Rule]) -> str:
    """Return *rules* in the form of `RobotsRules.lines`."""
    return "\n".join(rule.as_line for rule in rules)


_matchers = ByteCache[str, tuple[Matcher[Rule], int]](COMPILED_BYTES, lambda one: one[1])


def _matcher(rules: RobotsRules) -> Matcher[Rule]:
    if found := _matchers.get(rules.lines):
        return found[0]
    matcher = Matcher(rules.rules)
    _matchers.put(rules.lines, (matcher, COMPILED_SIZE * len(rules.lines)))
    return matcher


@lru_cache(maxsize=1024)
def _read_usage(line: Usage) -> Statement:
    written = line.value if line.pattern == "/" else f"{line.pattern} {line.value}"
    return read_line(line.name, line.value, written, line.line)


def _is_robots_txt(url: str) -> bool:
    return PATH in url and url_octets(url) == PATH
