"""The rules of a robots.txt that apply to us, what they say about a URL, and what an order carries.

Choices where the RFC is silent: Google's `index.html` rule (allowing it allows its folder) is left
out, because it grants a permission that nobody wrote; of several Crawl-delays the longest holds.
"""

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from gossamer.cache import ByteCache
from gossamer.web.http import Headers, joined_values
from gossamer.web.robots.matcher import Matcher, Undecided, compiled
from gossamer.web.robots.octets import literally, url_octets

PATH = "/robots.txt"
REDIRECTS = 5
"""How many in a row are followed (2.3.1.2), to any host."""
CARRIED = 50_000
"""Bytes of rules that an order carries; beyond that those which decide about its URLs."""
USAGE_LENGTH = 300
"""Characters of what is said about the use of a page that are taken from one place."""
COMPILED_BYTES = 64 << 20
"""Bytes of memory for rules that are kept ready to match."""
COMPILED_SIZE = 40
"""Bytes that rules take once they are ready to match, for each character of their text: measured
for files of 500 KiB."""


class Rule(Struct, frozen=True, gc=False):
    """One Allow or Disallow line of the groups that apply to us."""

    allow: bool
    pattern: str
    """As in the file, except that what is not printable ASCII is escaped."""
    line: int

    @property
    def written(self) -> str:
        """Return the rule as a line of `RobotsRules.lines`."""
        return f"{self.line} {'+' if self.allow else '-'} {self.pattern}"

    def __str__(self) -> str:
        """Return the rule with its line number, for a person to find it."""
        if not self.line:
            return "more rules of robots.txt come into question than are tried"
        return f"line {self.line}: {'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class Usage(Struct, frozen=True):
    """A line that says for what pages may be used, not whether they may be visited."""

    name: str
    """`content-usage` (draft-ietf-aipref-attach) or `content-signal` (contentsignals.org)."""
    value: str
    """As in the file, such as `train-ai=n`."""
    pattern: str = "/"


class RobotsRules(Struct, frozen=True):
    """The rules in force for one host, and until when.

    They are kept as text and compiled when they are asked for: compiled rules of one large file
    take 20 MB.
    """

    lines: str = ""
    """The rules, a line each: the number of its line in the file, + (Allow) or - (Disallow), and
    the pattern, separated by spaces."""
    crawl_delay: float = 0.0
    forbidden: str = ""
    """Why everything is forbidden, if the file could not be fetched (2.3.1.4); else empty."""
    fetched_at: float = 0.0
    expires_at: float = 0.0
    status: int = 0
    """Of the answer that they were read from; 0: there was none, or nobody asked."""
    usage: tuple[Usage, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of `lines`."""
        parts = (line.split(" ", 2) for line in self.lines.split("\n") if line)
        return tuple(Rule(sign == "+", pattern, int(number)) for number, sign, pattern in parts)

    def allows(self, url: str) -> bool:
        """Whether we may visit *url*."""
        if _is_robots_txt(url):
            return True
        rule = self.deciding_rule(url)
        return not self.forbidden and (rule is None or rule.allow)

    def deciding_rule(self, url: str) -> Rule | None:
        """Return the matching rule with the most octets, Allow before Disallow (2.2.2), or None.

        If too many come into question, it is one that forbids just this URL, of line 0.
        """
        if _is_robots_txt(url) or not self.lines:
            return None
        try:
            return _matcher(self).deciding(_path(url))
        except Undecided:
            return Rule(False, literally(_path(url)), 0)

    def explain(self, url: str) -> str:
        """Return for a person what decides about *url*."""
        if _is_robots_txt(url):
            return f"{PATH} itself may always be visited"
        return self.forbidden or str(self.deciding_rule(url) or "no rule of robots.txt applies")

    def usage_of(self, url: str) -> dict[str, str]:
        """Return by name what is said about the use of the page at *url*, by the lines whose path
        matches it with the most octets."""
        found: dict[str, tuple[int, str]] = {}
        for one in self.usage:
            pattern = compiled(one.pattern)
            most, said = found.get(one.name, (0, ""))
            if pattern.octets >= most and pattern.matches(_path(url)):
                alike = said and pattern.octets == most
                found[one.name] = pattern.octets, f"{said}, {one.value}" if alike else one.value
        return {name: said for name, (_octets, said) in found.items()}

    def carried_for(self, urls: Iterable[str]) -> "RobotsRules":
        """Return what an order for *urls* carries: says the same about them, and is not large."""
        if len(self.lines) <= CARRIED:
            return self
        deciding = dict.fromkeys(rule for url in urls if (rule := self.deciding_rule(url)))
        return replace(self, lines=written(deciding))


def written(rules: Iterable[Rule]) -> str:
    """Return *rules* as `RobotsRules.lines` has them."""
    return "\n".join(rule.written for rule in rules)


def with_header(usage: dict[str, str], headers: Headers) -> dict[str, str]:
    """Return *usage* of robots.txt together with what a response's *headers* say of it."""
    for name in ("content-usage", "content-signal"):
        if said := joined_values(headers, name)[:USAGE_LENGTH]:
            usage = {**usage, name: f"{usage[name]}, {said}" if name in usage else said}
    return usage


_compiled = ByteCache[str, tuple[Matcher[Rule], int]](COMPILED_BYTES, lambda one: one[1])


def _matcher(rules: RobotsRules) -> Matcher[Rule]:
    if found := _compiled.get(rules.lines):
        return found[0]
    matcher = Matcher(rules.rules)
    _compiled.put(rules.lines, (matcher, COMPILED_SIZE * len(rules.lines)))
    return matcher


_path = lru_cache(maxsize=1024)(url_octets)


def _is_robots_txt(url: str) -> bool:
    return PATH in url and _path(url) == PATH
