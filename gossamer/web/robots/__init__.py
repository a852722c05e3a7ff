"""robots.txt by RFC 9309: the rules for one crawler, in a form that orders can carry.

The fetcher parses a file once (`reader.py`) and keeps only the groups that apply to us. Every URL
of the host is checked against these rules (`rules.py`). Parsing is tolerant: 64 % of the files have
mistakes, and an invalid line does not affect the next line (`reader.py`). Patterns are indexed,
so that a URL costs about the same with ten rules as with 40,000 (`gossamer/web/path_patterns.py`).
"""

from gossamer.web.robots.reader import LIMIT, RobotsFile, is_token, parse_robots
from gossamer.web.robots.rules import (
    PATH,
    REDIRECTS,
    LicenseLine,
    RobotsRules,
    Rule,
    Usage,
    format_rules,
)

__all__ = [
    "LIMIT",
    "PATH",
    "REDIRECTS",
    "LicenseLine",
    "RobotsFile",
    "RobotsRules",
    "Rule",
    "Usage",
    "format_rules",
    "is_token",
    "parse_robots",
]
