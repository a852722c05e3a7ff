"""robots.txt as RFC 9309 defines it: one crawler's rules, in a form that travels with an order.

A file is parsed once, where it was fetched (`reader.py`), and only the groups that apply to us are
kept; every URL of the host is checked against those (`rules.py`). Parsing is tolerant: 64 % of
these files have mistakes, and one bad line says nothing about the next (`spelling.py`). Patterns
are indexed, so that a URL costs much the same among ten rules and among 40,000 (`matcher.py`).
"""

from gossamer.web.robots.reader import LIMIT, RobotsFile, is_token, parse_robots
from gossamer.web.robots.rules import (
    PATH,
    REDIRECTS,
    RobotsRules,
    Rule,
    Usage,
    with_header,
    written,
)
from gossamer.web.robots.spelling import is_text

__all__ = [
    "LIMIT",
    "PATH",
    "REDIRECTS",
    "RobotsFile",
    "RobotsRules",
    "Rule",
    "Usage",
    "is_text",
    "is_token",
    "parse_robots",
    "with_header",
    "written",
]
