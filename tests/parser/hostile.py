"""Malicious pages, as they are received."""

import gzip
from collections.abc import Callable
from functools import partial

from tests.parser.shapes import LINEAR, SHAPES, number_tags


def _long(shape: Callable[[int], str]) -> bytes:
    """Return a shape as long as the limit of documents."""
    return shape(max(1, 100 * LONG // len(shape(100))))[:LONG].encode()


LONG = 2 << 20
WORDS = "words and more " * 60_000
HOSTILE: dict[str, Callable[[], bytes]] = {
    **{name: partial(_long, shape) for name, shape in {**SHAPES, **LINEAR}.items()},
    "a bomb": lambda: gzip.compress(b"<p>" * (50 << 20)),
    "a bomb of zeros": lambda: gzip.compress(bytes(200 << 20)),
    "a bomb that breaks off": lambda: gzip.compress(b"<div>" * (5 << 20))[:-100],
    "a long base": lambda: (
        f"<base href='http://b.test/{'b/' * 900}'>" + number_tags("<a href={}>x</a>", 10_000)
    ).encode(),
    "links": lambda: number_tags("<a href=/{}>x</a>", 100_000).encode(),
    "one link": lambda: b"<a href=/x>x</a>" * 120_000,
    "long links": lambda: (f"<a href='/{'x' * 1900}{{}}'>x</a>" * 1000).encode(),
    "links in links": lambda: ("<svg>" + "<a href=/x>" * 1000 + WORDS).encode(),
    "links in tables in links": lambda: ("<a href=/x><table><td>" * 600 + WORDS).encode(),
    "descriptions": lambda: b"<meta name=description content=x>" * 60_000,
    "a refresh": lambda: ("<meta http-equiv=refresh content='5" + " " * LONG + "'>").encode(),
    "directives": lambda: ("<meta name=robots content='" + "x," * (LONG // 2)).encode() + b"'>",
    "an encoding": lambda: b"<meta " + b"x=" * 500_000 + b"><meta charset=koi8-r>",
    "linked data": lambda: b"<script type=application/ld+json>" + b"[" * LONG + b"</script>",
    "one word": lambda: b"<p>" + b"x" * LONG,
    "one paragraph": lambda: ("<p>" + WORDS).encode(),
    "lines": lambda: b"x<br>" * 400_000,
    "rows": lambda: b"<table>" + b"<tr><td>x<td>y</tr>" * 100_000 + b"</table>",
    "zeros": lambda: bytes(LONG),
    "marks": lambda: b"<p>" + "a\u0301\u200d\u202e".encode() * 200_000,
    "broken characters": lambda: b"<p>" + b"\xff\xc0\xed\xa0\x80" * 400_000,
    "text in a table": lambda: b"<table>" + b"x<tr>" * 400_000,
}
"""Pages by name. The shapes are as long as the limit of documents."""
