"""What a URL costs among the rules of a robots.txt, as a ratio to a file of ten.

    .venv/bin/python -m bench.robots

Files of the largest size that is read (500 KiB), as they are and as somebody would make them who
means harm. The ratios hold on any machine; the microseconds are this one's. Twice as many rules may
cost twice as much, and not more. At the end the milliseconds to read the file, which the fetcher
does, and to make its rules ready, with the first URL, which the frontier does.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product

from gossamer.web.robots import LIMIT, RobotsRules, parse_robots

LETTERS = b"abcdefghijklmno"
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
URLS = 200


def numbered(pattern: bytes) -> Iterator[bytes]:
    """Yield rules without end."""
    for number in range(LIMIT):
        yield pattern % number


def short_pieces(last: bytes = b"") -> Iterator[bytes]:
    """Yield rules whose pieces are all in the URL, in another order, or all but the last one."""
    for letters in product(LETTERS, repeat=4):
        if last or list(letters) != sorted(letters):
            yield b"/*%c*%c*%c*%c" % letters + last


def page(number: int) -> str:
    """Return an URL as there are many."""
    return f"http://example.org/x/{number}yyy/some/page-{number}.html?id={number}"


def letters(number: int) -> str:
    """Return one that has all letters."""
    return f"http://example.org/{ALPHABET}{number}"


FILES: dict[str, tuple[Callable[[], Iterable[bytes]], Callable[[int], str]]] = {
    "folders": (lambda: numbered(b"/%d/"), page),
    "a star in each": (lambda: numbered(b"/%d*y*z"), page),
    "a star first": (lambda: numbered(b"/*/id=%d"), page),
    "hostile: pieces in another order": (short_pieces, letters),
    "hostile: all but the last piece": (lambda: short_pieces(b"*#"), letters),
    "hostile: one begins the other": (lambda: (b"/" + b"b" * n for n in range(1000)), letters),
    "hostile: one of many stars": (lambda: [b"/" + b"*a" * 200_000 + b"b"], letters),
}


def robots(patterns: Iterable[bytes], share: float = 1.0) -> bytes:
    """Return a file of *share* of the size that is read."""
    lines = b"User-agent: *\n" + b"".join(
        b"Disallow: %s\n" % one for one in islice(patterns, LIMIT)
    )
    return lines[: int(LIMIT * share)]


def rules(patterns: Iterable[bytes], share: float = 1.0) -> RobotsRules:
    """Return its rules."""
    return parse_robots(robots(patterns, share), "gossamer", 0.0, 1.0).rules


def seconds(what: Callable[[], object]) -> float:
    """Return the seconds of this process that *what* takes."""
    began = time.process_time()
    what()
    return time.process_time() - began


def cost(of: RobotsRules, url: Callable[[int], str]) -> float:
    """Return the microseconds that a URL costs."""
    of.allows(url(URLS))
    began = time.perf_counter()
    for number in range(URLS):
        of.allows(url(number))
    return 1e6 * (time.perf_counter() - began) / URLS


def main() -> None:
    """Print the table."""
    ten = cost(rules(islice(numbered(b"/%d/"), 10)), page)
    costs = f"{'us a URL':>10}{'to ten':>8}{'to half':>9}{'read ms':>9}{'+ ms':>6}"
    print(f"{'file':36}{'rules':>8}{costs}")
    print(f"{'ten rules':36}{10:8}{ten:10.1f}{1:8.1f}")
    for name, (patterns, url) in FILES.items():
        half, text = rules(patterns(), 0.5), robots(patterns())
        read = seconds(lambda text=text: parse_robots(text, "gossamer", 0.0, 1.0))  # type: ignore[misc]
        whole = parse_robots(text, "gossamer", 0.0, 1.0).rules
        first = seconds(lambda of=whole, url=url: of.allows(url(0)))  # type: ignore[misc]
        spent, spent_half = cost(whole, url), cost(half, url)
        ratios = f"{spent / ten:8.1f}{spent / spent_half:9.1f}"
        once = f"{1000 * read:9.0f}{1000 * first:6.0f}"
        print(f"{name:36}{len(whole.rules):8}{spent:10.1f}{ratios}{once}")


if __name__ == "__main__":
    main()
