"""`gossamer history` and `gossamer diff` say the same about two versions of a page: they use one
text, by which dedup decides whether the page has changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from gossamer.events import PageDeduplicated
from gossamer.inspection.archive.comparison import compare_versions
from gossamer.inspection.basics.labels import finding_text
from gossamer.inspection.crawls.crawl import OpenCrawl, open_crawl
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify
from gossamer.settings import Settings
from gossamer.web.http import Headers
from tests.console.archived import DAY, HOST, Archived
from tests.dedup.harness import make_dedup, only
from tests.parser.pages import OPTIONS, page_response

WORDS = " ".join(f"word{number}" for number in range(300))
TEMPLATE = (
    "<html><title>{title}</title><body class={style}><nav><a href=/>{menu}</a></nav>"
    "<article><p>{start}</p><p>{words}</p><p>{end}</p></article><img src={picture}>"
    "<footer>It is <i>{clock}</i> now</footer>"
)
SAME: Mapping[str, str] = {
    "title": "News",
    "style": "a",
    "menu": "Home",
    "start": "The bridge, they say, is open.",
    "words": WORDS,
    "end": "The committee meets on Monday.",
    "picture": "/1.png",
    "clock": "12:00",
}
DIFFER = "% of the words of the title and the visible text differ"
EQUAL = (
    "the words of the title and the visible text are equal, and only other parts of the bodies "
    "differ, such as the markup"
)
CHANGED = "of the words changed"
SPACES = (
    "the words of the title and the visible text are equal, and only the spaces between them differ"
)
NO_TEXT = "neither version has a text, and the bodies differ"
WHOLE = "changed as a whole, or has no words to compare"


@dataclass(frozen=True)
class Case:
    """Versions of a page, and the sentences about the last two."""

    bodies: tuple[str, ...]
    found: str | tuple[str, ...]
    """The end of the line of history, or several that are as good."""
    answer: str
    """The end of the answer of diff."""
    added: str = ""
    """A word that diff shows as added."""
    type: str = "text/html"


def page(**parts: str) -> str:
    return TEMPLATE.format_map({**SAME, **parts})


def short(**parts: str) -> str:
    return page(words="", **parts)


CASES = {
    "main text": Case((page(), page(end="It meets on Friday.")), CHANGED, DIFFER, "It"),
    "menu": Case((page(), page(menu="Start")), CHANGED, DIFFER, "Start"),
    "title": Case((page(), page(title="Views")), CHANGED, DIFFER, "Views"),
    "title of each visit": Case(
        tuple(page(title=f"({number}) News") for number in range(6)),
        "changed only where it changes each time",
        DIFFER,
        "5",
    ),
    "clock": Case(
        tuple(page(clock=f"12:0{number}") for number in range(6)),
        "changed only where it changes each time",
        DIFFER,
        "05",
    ),
    "markup": Case((page(), page(style="b")), "unchanged", EQUAL),
    "markup within a word": Case((page(), page(menu="Ho<b>me</b>")), CHANGED, DIFFER, "Ho"),
    "markup of a comma": Case(
        (page(), page(start="The bridge<b>,</b> they say, is open.")),
        CHANGED,
        SPACES,
    ),
    "picture of a long text": Case((page(), page(picture="/2.png")), "unchanged", EQUAL),
    "picture of a short text": Case((short(), short(picture="/2.png")), CHANGED, DIFFER, "2"),
    "permalinks": Case(
        (page(), page(end="The committee meets on Monday.<h2 id=a>A<a href=#a>¶</a></h2>")),
        CHANGED,
        DIFFER,
        "A",
    ),
    "long string": Case((page(), page(end="x" * 50)), CHANGED, DIFFER, "x" * 50),
    "nothing": Case((page(), page()), "unchanged", "the bodies are equal"),
    "shell": Case(
        ("<title>App</title><div id=app data-at=1>", "<title>App</title><div id=app data-at=2>"),
        WHOLE,
        EQUAL,
    ),
    # A sketch estimates the share that changed, here between 80 % and all.
    "another text": Case(
        ("<p>" + WORDS, "<p>" + WORDS.replace("word", "term")), (CHANGED, WHOLE), DIFFER, "term1"
    ),
    "bytes": Case(("\x00\x01", "\x00\x02"), WHOLE, NO_TEXT, type="image/png"),
    "plain text": Case(
        (f"News\n\n{WORDS}", f"Views\n\n{WORDS}"), CHANGED, DIFFER, "Views", "text/plain"
    ),
}
USUAL = ("main text", "menu", "title", "clock", "markup")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenCrawl]:
    """Yield a crawl with the versions of all cases."""
    archived = Archived(tmp_path_factory.mktemp("texts"))
    for number, case in enumerate(CASES.values()):
        for day, body in enumerate(case.bodies):
            archived.add(_url(number), day, body.encode(), headers=_headers(case))
    with open_crawl(Settings(), archived.end()) as found:
        yield found


def _url(number: int) -> str:
    return f"{HOST}/{number}/"


def _headers(case: Case) -> Headers:
    return (("Content-Type", case.type),)


@pytest.mark.parametrize(
    "name",
    [name if name in USUAL else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_history_and_diff_agree(crawl: OpenCrawl, name: str) -> None:
    case = CASES[name]
    found = _visit(case)
    assert found.endswith(case.found)
    compared = compare_versions(crawl, _url([*CASES].index(name)), None, None, "text")
    assert compared.answer.endswith(case.answer)
    assert bool(compared.change) is (case.answer is DIFFER)
    added = [piece.text for piece in compared.pieces if piece.kind == "added"]
    assert case.added in " ".join(added).split() or not case.added


def _visit(case: Case) -> str:
    """Return what the history says about the last visit."""
    dedup = make_dedup()
    for day, body in enumerate(case.bodies, 1):
        received = page_response(body.encode(), *_headers(case), url=_url(0))
        received = replace(received, started_at=day * DAY)
        page = classify(received, parse(received, OPTIONS, day * DAY))
        event = only(PageDeduplicated, dedup.handle(page, day * DAY))
    return finding_text(event.verdict, event.change, event.duplicate_of, event.redirects_to)
