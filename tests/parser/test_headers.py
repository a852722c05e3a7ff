"""Links in HTTP headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Link
from gossamer.services.parser.links import MAX_HEADER_LINKS, parse_link_header
from gossamer.web.http import parse_refresh
from tests.parser.pages import parse_response

ROOT = "http://www.example.org"


@pytest.mark.parametrize(
    ("value", "links"),
    [
        ("</x>; rel=next", [("/x", "next", "")]),
        ('<x>; rel="PREV start"; title="a \\"b\\""', [("/dir/x", "prev", 'a "b"')]),
        (
            "</x,y>;rel=canonical, </z>; rel=canonical",
            [("/x,y", "canonical", ""), ("/z", "canonical", "")],
        ),
        ("</x>; rel=alternate; hreflang=de", [("/x", "alternate", "")]),
        ("</x>; rel=alternate; type='application/rss+xml'", []),
        ('</x>; rel=alternate; type="application/rss+xml"', [("/x", "feed", "")]),
        ("</x>; rel=preload, </y>; rel=stylesheet, </z>", []),
        ("</x>; rel=next; anchor='/other'", []),
        ("<http://[>; rel=next, <mailto:x>; rel=next, <>; rel=next", []),
        ("</x>; rel=next; rel=canonical", [("/x", "next", "")]),
        ("/x; rel=next", []),
    ],
)  # fmt: skip
def test_link_headers_are_read_for_every_media_type(
    value: str, links: list[tuple[str, str, str]]
) -> None:
    for media_type in ("text/html", "image/png"):
        parsed = parse_response("x", ("Content-Type", media_type), ("Link", value))
        found = [(link.url.removeprefix(ROOT), link.kind, link.text) for link in parsed.links]
        assert found == links
        canonical = next((ROOT + url for url, kind, _ in links if kind == "canonical"), "")
        assert parsed.canonical == canonical


def test_header_link_has_its_relations() -> None:
    parsed = parse_response("x", ("Content-Type", "text/html"), ("Link", '</x>; rel="Next  Start"'))
    assert parsed.links == (Link(f"{ROOT}/x", rel="next start", kind="next"),)


def test_refresh_header_is_a_link() -> None:
    parsed = parse_response("x", ("Content-Type", "text/html"), ("Refresh", "0; url=/x"))
    assert parsed.links == (Link(f"{ROOT}/x", kind="refresh"),)
    assert parse_response("x", ("Content-Type", "text/html"), ("Refresh", "5")).links == ()


@pytest.mark.parametrize(
    ("name", "value", "url", "text"),
    [
        ("Link", "<caf\xe9>; rel=next", "/dir/caf%E9", ""),
        ("Link", "<\xc3\xa0>; rel=next", "/dir/%C3%A0", ""),
        ("Link", '<\xe9>; rel=next; title="\xc3\xa0 la"', "/dir/%E9", "\xe0 la"),
        ("Link", '<\xe9\xa0>; rel=next; title="caf\xe9"', "/dir/%E9%A0", "caf\xe9"),
        ("Refresh", "0; url=/ref\xe9", "/ref%E9", ""),
        ("Refresh", "0;url='/\xc3\xa0'", "/%C3%A0", ""),
    ],
)
def test_octets_of_urls_in_headers_are_kept(name: str, value: str, url: str, text: str) -> None:
    """Report Norconex #199: the octets of a URL are kept, and the title is text."""
    parsed = parse_response("x", ("Content-Type", "text/html"), (name, value))
    assert [(link.url, link.text) for link in parsed.links] == [(ROOT + url, text)]


def test_links_in_body_precede_links_in_headers() -> None:
    header = ("Link", "</a>; rel=canonical, </b>; rel=next")
    body = "<link rel=canonical href=/c><a href=/b>more</a>"
    parsed = parse_response(body, ("Content-Type", "text/html"), header)
    assert parsed.canonical == f"{ROOT}/c"
    assert [link.url for link in parsed.links] == [f"{ROOT}/c", f"{ROOT}/b", f"{ROOT}/a"]
    assert parsed.links[1].text == "more"


def test_header_links_are_limited() -> None:
    value = ", ".join(f"</{n}>; rel=next" for n in range(2 * MAX_HEADER_LINKS))
    assert (
        len(parse_response("x", ("Content-Type", "text/html"), ("Link", value)).links)
        == MAX_HEADER_LINKS
    )


targets = st.text("abc/.,;=:?\"' ", max_size=10)
tokens = st.text("abcdefghij", min_size=1, max_size=5)
values = st.text('abc ,;<>\\"=', max_size=8)


@given(st.lists(st.tuples(targets, st.dictionaries(tokens, values, max_size=3)), max_size=5))
def test_link_header_round_trip(links: list[tuple[str, dict[str, str]]]) -> None:
    def quote(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"')

    written = ", ".join(
        f"<{target}>" + "".join(f'; {name}="{quote(value)}"' for name, value in parameters.items())
        for target, parameters in links
    )
    assert list(parse_link_header(written)) == [
        (target.strip(), parameters) for target, parameters in links
    ]


@given(st.text('<>;,="\\ abrel', max_size=200))
def test_any_link_header_is_accepted(value: str) -> None:
    for target, parameters in parse_link_header(value):
        assert f"<{target}" in value.replace("< ", "<") or target in value
        assert all(name in value.lower() for name in parameters)


@given(st.floats(0, 1e6).map(str), st.sampled_from([";", ",", " "]), st.text(max_size=50))
def test_refresh_target_is_part_of_value(after: str, mark: str, rest: str) -> None:
    assert (parse_refresh(f"{after}{mark}{rest}") or "") in rest


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("0;/x", "/x"),
        ("5; URL = '/x y' z", "/x y"),
        ('1.5,url="/x', "/x"),
        ("0; url /x", "url /x"),
        ("1 ; url = /x", "/x"),
        ("0 url=/x", "/x"),
        ("0url=/x", None),
        ("10", ""),
        ("10;", ""),
        ("url=/x", None),
        ("-1; /x", None),
    ],
)
def test_refresh_is_parsed_by_the_standard(value: str, target: str | None) -> None:
    """stormcrawler#350, #1020; zaproxy#5795; whatwg/html#246."""
    assert parse_refresh(value) == target
