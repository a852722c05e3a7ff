"""The stored text of a page: main text, visible text, Markdown, and misread words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.extras import missing_modules
from gossamer.services.parser.html.hidden import INVISIBLE_ELEMENTS
from gossamer.services.parser.html.text import MAX_TAGS, extract_visible_text, truncate
from gossamer.services.parser.page import parse
from gossamer.services.parser.text import COMPOUNDING_LANGUAGES, drop_misread_words
from gossamer.text import TextMode
from tests.parser.legacy import JAPANESE, SIMPLIFIED, THAI, TRADITIONAL
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response

MENU = "<nav>" + "".join(f"<a href={n}>Entry {n}</a> " for n in range(30)) + "</nav>"
ARTICLE = "<p>" + "What the article says is said in whole sentences, and there are some. " * 10
POST = "<div class=comment><p>Post {} of a thread, of which each one is marked as a comment.</div>"
THREAD = MENU + "".join(POST.format(n) for n in range(12))
CONTACT = (
    MENU + "<main><p>Logo</main><aside><p>Firm Ltd<br>1, Street<br>Town</aside>"
    "<footer>Phone 123 456</footer>"
)
TABLE = "<table>" + "".join(f"<tr><td>{n}<td>{n * n}" for n in range(50)) + "</table>"
GALLERY = MENU + "".join(
    f"<figure><img src={n}><figcaption>Picture {n}</figcaption></figure>" for n in range(20)
)
DEEP = "<div>" * 1000 + "<p>Words far down."
BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4"


MODES = [
    "main",
    pytest.param(
        "rust", marks=pytest.mark.skipif(bool(missing_modules("rust")), reason="needs Python 3.12")
    ),
    "fast",
]


def read_html(body: str, mode: TextMode = "main", markdown: bool = False) -> PageParsed:
    options = replace(OPTIONS, text=mode, markdown=markdown)
    return parse(page_response(body.encode()), options, NOW)


@pytest.mark.parametrize("html", ["", MENU, ARTICLE, "<p>word" * MAX_TAGS, "word " * 10])
def test_usual_pages_are_not_truncated(html: str) -> None:
    assert truncate(html) == html


@pytest.mark.parametrize("more", [1, MAX_TAGS])
def test_page_with_too_many_tags_is_truncated(more: int) -> None:
    html = "<p>word" * (MAX_TAGS + more)
    assert truncate(html) == "<p>word" * MAX_TAGS


@pytest.mark.parametrize("mode", MODES)
def test_article_has_main_text(mode: TextMode) -> None:
    parsed = read_html(f"{MENU}<article>{ARTICLE}</article>", mode)
    assert parsed.text_kind == "main"
    assert "whole sentences" in (parsed.text or "") and "Entry" not in (parsed.text or "")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (THREAD, "Post 11"),
        (CONTACT, "Phone 123 456"),
        (TABLE, "2401"),
        (GALLERY, "Picture 19"),
        (DEEP, "Words far down."),
        ("<p>Redirecting…", "Redirecting…"),
        ("<form><label>Name</label><button>Search</button></form>", "Search"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_page_with_visible_words_has_text(body: str, word: str, mode: TextMode) -> None:
    parsed = read_html(body, mode)
    assert word in (parsed.text or "")
    assert parsed.text_kind in ("main", "visible")


def test_page_of_teasers_has_their_texts() -> None:
    words = "A whole sentence of item {}, with words enough to be read by somebody, at a price. "
    teasers = "".join(f"<div class=teaser>{2 * words.format(n)}</div>" for n in range(20))
    introduction = f"<p>{'A short introduction of the page that is long enough. ' * 6}</p>"
    parsed = read_html(f"<main>{introduction * 2}{teasers}</main>")
    assert parsed.text_kind == "main"
    assert all(words.format(n).strip() in (parsed.text or "") for n in range(20))


def test_visible_text_has_lines_of_browser() -> None:
    html = "<h1>A  title</h1>\n<p>One <b>li</b>ne<br>and another<ul><li>1<li>2</ul>"
    assert (
        extract_visible_text(f"{html}<table><tr><td>a<td>b")
        == "A title\nOne line\nand another\n1\n2\na b"
    )


def test_page_without_words_has_no_text() -> None:
    parsed = read_html("<img src=a><script>words()</script><style>p {}</style>")
    assert (parsed.text, parsed.text_kind) == (None, "")


@given(st.lists(st.sampled_from(["div", "p", "td", "b", "title", "li", "form", "nav"]), max_size=8))
def test_text_in_any_element_is_visible(tags: list[str]) -> None:
    if set(tags).isdisjoint(INVISIBLE_ELEMENTS):
        assert read_html("".join(f"<{tag}>" for tag in tags) + "word").text == "word"


def test_disabled_text_leaves_digest_and_blocks() -> None:
    whole, without = read_html(CONTACT), read_html(CONTACT, "off")
    assert (without.text, without.text_kind) == (None, "")
    assert without.digest == whole.digest and without.blocks == whole.blocks


def test_main_text_is_published_as_markdown_if_enabled() -> None:
    body = f"{MENU}<article><h1>Its title</h1>{ARTICLE}<p>A <b>bold</b> word<ul><li>one<li>two</ul>"
    parsed = read_html(body, markdown=True)
    assert "# Its title" in (parsed.markdown or "")
    assert "**bold**" in (parsed.markdown or "") and "- one" in (parsed.markdown or "")
    assert "Entry" not in (parsed.markdown or "")
    assert read_html(body).markdown is None
    assert read_html(body).text == parsed.text
    assert read_html(CONTACT, markdown=True).markdown is None, "the page has no main text"


WORDS = "Some words before it, and some more of them behind it. " * 5


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
@pytest.mark.parametrize(
    "string", ["x" * 31, BASE64, "ÿØÿàJFIFÿÛÐÑÿØÿàJFIFÿÛÐÑÿØÿàJFIF", "a1b2" * 20]
)
def test_misread_word_is_dropped_and_a_hazard(kind: str, string: str) -> None:
    body = f"{WORDS}{string} {WORDS}"
    parsed = parse_response(f"<p>{body}" if "html" in kind else body, ("Content-Type", kind))
    assert "misread_text" in parsed.hazards
    assert string not in (parsed.text or "") and "some more of them" in (parsed.text or "")


def test_text_of_misread_words_is_none() -> None:
    parsed = parse_response(BASE64 * 20, ("Content-Type", "text/plain"))
    assert (parsed.text, parsed.text_kind) == (None, "")
    assert "misread_text" in parsed.hazards


@pytest.mark.parametrize(
    "text",
    [
        "x" * 30,
        "https://www.example.org/a/very/long/path-to/something?query=value&other=1#fragment",
        "somebody.with.a.long.name@mail.department.example.org",
        "-" * 80,
        "North/South/East/West/Up/Down/Left/Right",
        "well-known-and-much-hyphenated-adjective",
        "Everything…happened…without…spaces…here",
        JAPANESE,
        SIMPLIFIED,
        TRADITIONAL,
        THAI,
        "最新のiPhoneとAndroidのスマートフォンを比較しました。",
    ],
)
def test_text_without_spaces_is_not_misread(text: str) -> None:
    assert drop_misread_words(text, 30) == text


def test_compounds_may_be_longer() -> None:
    word = "Gesundheitsversorgungseinrichtungen"
    assert "de" in COMPOUNDING_LANGUAGES
    assert drop_misread_words(word, 30, "de") == word
    assert drop_misread_words(word, 30, "en") == ""
    assert drop_misread_words(word, 0) == word, "0 disables the limit"


@pytest.mark.slow
@given(st.text(), st.integers(1, 40))
def test_only_long_words_are_dropped(text: str, max_letters: int) -> None:
    result = drop_misread_words(text, max_letters)
    assert all(one in result for one in text.split() if len(one) <= max_letters)
    left = iter("".join(text.split()))
    assert all(character in left for character in "".join(result.split())), "a part of the text"
