"""The requisites and media of pages, the choice from srcset, and the URLs in styles."""

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import PageFetched, PageKind, PageParsed, Purpose, Visit
from gossamer.services.parser.html.requisites import choose_candidate, parse_srcset
from gossamer.services.parser.options import Options
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify
from gossamer.services.parser.service import is_read
from gossamer.services.parser.styles import find_style_urls
from tests.parser.pages import NOW, OPTIONS, page_response

ROOT = "http://www.example.org"
VISITED = replace(OPTIONS, requisites=True)


def names(parsed: PageParsed) -> list[str]:
    return [url.removeprefix(f"{ROOT}/") for url in parsed.requisites]


def read(html: str, options: Options = VISITED) -> PageParsed:
    return parse(page_response(html.encode()), options, NOW)


def response(body: bytes, status: int = 200, kind: str = "text/css", **more: str) -> PageFetched:
    headers = [("Content-Type", kind), *((name.title(), value) for name, value in more.items())]
    page = page_response(body, *headers)
    visit = Visit("1.1.0@style", f"{ROOT}/css/a.css", purpose=Purpose.REQUISITE)
    return replace(page, visit=visit, status=status)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<img src=/a.png>", ["a.png"]),
        ("<img src=/a.png srcset='/b.png 2x, /c.png 3x'>", ["a.png"]),
        ("<img src=/a.png srcset='/b.png, /c.png 2x'>", ["a.png", "b.png"]),
        ("<img src=/a.png srcset='/s 640w, /l 2000w'>", ["a.png", "l"]),
        ("<img srcset='/b.png 2x, /c.png 3x'>", ["b.png"]),
        ("<picture><source srcset=/d.webp><img src=/a.png></picture>", ["a.png", "d.webp"]),
        ("<video src=/v.mp4 poster=/p.jpg></video>", ["p.jpg"]),
        ("<script src=/s.js></script>", ["s.js"]),
        ("<link rel=stylesheet href=/s.css>", ["s.css"]),
        ("<link rel='alternate stylesheet' href=/s.css>", ["s.css"]),
        ("<link rel='shortcut icon' href=/i.ico>", ["i.ico"]),
        ("<link rel=manifest href=/m.json>", ["m.json"]),
        ("<link rel=modulepreload href=/m.js>", ["m.js"]),
        ("<link rel=preload as=font href=/f.woff2>", ["f.woff2"]),
        ("<link rel=preload as=image imagesrcset='/s 640w, /l 2000w' href=/h>", ["h", "l"]),
        ("<link rel=preload as=fetch href=/data.json>", ["data.json"]),
        ("<link rel=preload as=video href=/v.mp4>", []),
        ("<input type=image src=/go.gif><input type=text src=/no.gif>", ["go.gif"]),
        ("<svg><image href=/a.svg /><use xlink:href=/b.svg#x /><use href='#y'/></svg>",
         ["a.svg", "b.svg"]),
        ("<embed type=image/svg+xml src=/e.svg><object data=/page.html></object>", ["e.svg"]),
        ("<embed type=video/mp4 src=/e.mp4>", []),
        ("<style>p { background: url(/s.png) }</style>", ["s.png"]),
        ("<p style='background: url(\"/s.png\")'>x", ["s.png"]),
        ("<table background=/t.gif>", ["t.gif"]),
        ("<img src='data:image/png;base64,AA'><img src=''><img srcset=','>", []),
        ("<noscript><link rel=stylesheet href=/n.css><img src=/n.png></noscript>",
         ["n.css", "n.png"]),
        ("<img loading=lazy src=/a.png>", ["a.png"]),
        ("<link rel='preload stylesheet' href=/s.css>", ["s.css"]),
        ("<embed src=/e.svg><object data=/o.png></object><embed src=/p.php>", ["o.png", "e.svg"]),
        ("<embed src=/e.mp4>", []),
    ],
)  # fmt: skip
def test_elements_with_requisites(html: str, expected: list[str]) -> None:
    parsed = read(html)
    assert names(parsed) == expected
    assert not [link for link in parsed.links if link.url.endswith(tuple(expected or ["?"]))]


def test_styles_in_a_page_are_searched_only_if_requisites_are_visited() -> None:
    html = "<img src=/a.png><style>p { background: url(/s.png) }</style><p style='a:url(/b)'>"
    assert names(read(html, OPTIONS)) == ["a.png"]
    assert names(read(html)) == ["a.png", "s.png", "b"]


PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # Lazy loaders: lazysizes, vanilla-lazyload, WP Rocket, Lazy Load by Automattic, jQuery
        # Lazy, Echo, PageSpeed, Mirage by Cloudflare, Flickity, Optimole, UIkit, lozad, reveal.js.
        (f"<img class=lazyload src='{PIXEL}' data-src=/a.png>", ["a.png"]),
        ("<img src=/p.gif data-src=a.png data-srcset='s.png 640w, l.png 2000w'>",
         ["p.gif", "dir/a.png", "dir/l.png"]),
        ("<img data-srcset='/b.png 2x, /c.png 3x'>", ["b.png"]),
        ("<img data-src=/a.png data-srcset='/b.png 2x, /c.png 3x'>", ["a.png"]),
        ("<img data-lazy-src=/a.png?is-pending-load=1 data-lazy-srcset='/s 8w, /l 9w'>",
         ["a.png?is-pending-load=1", "l"]),
        ("<img src=/grey.gif data-original=img/bmw_m1_hood.jpg data-original-set='/h.jpg 3x'>",
         ["grey.gif", "dir/img/bmw_m1_hood.jpg"]),
        ("<img data-lazy=//www.example.org/1><img data-echo=/2><img data-cfsrc=/3>"
         "<img data-pagespeed-lazy-src=/4><img data-flickity-lazyload=/5><img data-full-src=/6>"
         "<img data-opt-src=/7>", ["1", "2", "3", "4", "5", "6", "7"]),
        ("<picture><source data-srcset='/d.webp 1x'><img data-src=/a.png></picture>",
         ["a.png", "d.webp"]),
        ("<picture><source data-src=/d.webp><img src=/a.png></picture>", ["a.png", "d.webp"]),
        ("<video data-poster=/p.jpg></video>", ["p.jpg"]),
        ("<script type=rocketlazyloadscript data-rocket-src=/s.js></script>", ["s.js"]),
        ("<script type=litespeed/javascript data-src=/s.js></script>", ["s.js"]),
        ("<div data-bg=/b.jpg></div><div data-bg='url(/c.jpg)'></div>", ["b.jpg", "c.jpg"]),
        ("<p data-background=b.jpg data-background-image=http://www.example.org/c></p>",
         ["dir/b.jpg", "c"]),
        ("<div data-bg-multi='url(/a.svg), linear-gradient(#fff, #000), url(/b.png)'></div>",
         ["a.svg", "b.png"]),
        ("<div data-bgset='/s.jpg 800w, /m.jpg 1500w [(max-width: 766px)] | /l.jpg'></div>",
         ["m.jpg", "l.jpg"]),
        ("<div data-src=/b.jpg uk-img></div><section data-srcset='/s 8w, /l 9w'></section>",
         ["b.jpg", "l"]),
        ("<span data-original=/b.jpg></span>", ["b.jpg"]),
        ("<script data-main=/main.js></script><script data-main=app/main></script>", ["main.js"]),
        ("<a data-src=/zoomed.jpg href=/x>x</a><iframe data-src=/page></iframe>", []),
        # Outbrain, and frames of Jetpack: such an attribute has the URL of a document.
        ("<div class=OUTBRAIN data-src=https://a.test/story/1></div><div data-src=/likes/></div>",
         []),
    ],
)  # fmt: skip
def test_lazy_elements_have_requisites(html: str, expected: list[str]) -> None:
    assert names(read(html)) == expected


@pytest.mark.parametrize(
    "value",
    [
        "", " ", "#", "/", "//", "true", "1", "0.5", "lazy", "lazyload lazyloaded", "A nice view",
        "16/9", "text/html", "placeholder", "hero-image", "jquery.lazy", "null", "undefined", PIXEL,
        "javascript:void(0)", "blob:http://www.example.org/1", '{"src": "/a.png"}', '["/a.png"]',
        "/a_{width}x.jpg", "{{ image.src }}", "${url}", "<%= url %>", "/a_%7Bwidth%7Dx.jpg",
        "[[image]]", "mailto:a@example.org", "image:12.png", "https://", "a, b", "center / cover",
        ".hero > .image.png",
    ],
)  # fmt: skip
def test_values_that_are_not_written_as_a_url_are_not_requisites(value: str) -> None:
    names_of_values = ("data-src", "data-srcset", "data-original", "data-bg", "data-bgset")
    attributes = " ".join(f"{name}='{value}'" for name in names_of_values)
    parsed = read(f"<img {attributes}><div {attributes}></div><video {attributes}></video>")
    assert (parsed.requisites, parsed.media, parsed.hazards) == ((), (), ())


def test_spaces_in_the_path_of_a_lazy_image_are_those_of_a_src() -> None:
    html = "<img data-src='//www.example.org/mobile banner.jpg/jcr:content/5000.jpeg'>"
    assert names(read(html)) == ["mobile%20banner.jpg/jcr:content/5000.jpeg"]


def test_all_candidates_are_requisites_by_the_setting() -> None:
    html = (
        "<img src=/a srcset='/s 640w, /l 2000w'><img src=/b srcset='/c 2x, /d 3x'>"
        "<picture><source data-srcset='/e, /f 2x'></picture><div data-bgset='/g 1x, /h 2x'></div>"
        "<link rel=preload as=image imagesrcset='/i 640w, /j 2000w'>"
    )
    assert names(read(html)) == ["j", "a", "l", "b", "e", "g"]
    every = replace(VISITED, all_candidates=True)
    assert names(read(html, every)) == [*"ijaslbcdefgh"]


def test_media_are_recorded_apart_from_requisites() -> None:
    parsed = read(
        "<video src=/v.mp4></video><audio><source src=/a.ogg></audio><embed type=video/mp4 src=/e>"
        "<video data-src=/w.mp4><source data-src=/w.webm><track src=/t.vtt></video>"
        "<embed src=/f.mp4>"
    )
    assert [url.removeprefix(f"{ROOT}/") for url in parsed.media] == [
        "v.mp4", "w.mp4", "a.ogg", "w.webm", "t.vtt", "e", "f.mp4"
    ]  # fmt: skip
    assert parsed.requisites == ()


def test_what_a_page_needs_most_comes_first_up_to_the_limit() -> None:
    html = "<img src=/1><img src=/2><script src=/s.js></script><link rel=stylesheet href=/s.css>"
    assert names(read(html, replace(VISITED, requisites_limit=3))) == ["s.css", "s.js", "1"]
    assert names(read(html, replace(VISITED, requisites_limit=0))) == []


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("a,b", ["a,b"]),
        ("a 1x,b 2x", ["a", "b"]),
        (" ,, a 100w ,b 2.5x, ", ["a", "b"]),
        ("a, , b,", ["a", "b"]),
        ("a (x, y), b", ["b"]),
        ("a view.jpg, b", ["b"]),
        ("a 0w, b -1x, c 1x 2w, d 5h, e 2X, f 1 x, g 1xx, h", ["h"]),
        ("a 1e0x, b .5x, c 8w 6h, d 6h 8w", ["a", "b", "c", "d"]),
        ("data:,x 1x, b 2x", ["data:,x", "b"]),
        (",", []),
        ("", []),
    ],
)
def test_srcset_is_parsed_by_the_standard(value: str, urls: list[str]) -> None:
    assert [one.url for one in parse_srcset(value)] == urls


@pytest.mark.parametrize(
    ("value", "chosen"),
    [
        ("", ""),
        ("a", "a"),
        ("b 2x, a", "a"),
        ("b 2x, c 3x", "b"),
        ("b 0.5x, c 0.75x", "c"),
        ("s 640w, m 1280w, l 2560w", "m"),
        ("l 2560w, m 1300w, s 640w", "m"),
        ("s 320w, m 640w", "m"),
        ("s 320w 200h, m 1281w 800h", "m"),
    ],
)
def test_one_candidate_is_chosen_for_a_usual_screen(value: str, chosen: str) -> None:
    assert choose_candidate(value) == chosen


urls_in_srcset = st.text("abc/.?=&:,", min_size=1, max_size=8).filter(
    lambda url: url.strip(",") == url
)


@given(st.lists(st.tuples(urls_in_srcset, st.sampled_from(["", " 1x", " 100w", " 2x\t"]))))
def test_srcset_round_trip(candidates: list[tuple[str, str]]) -> None:
    value = ", ".join(url + size for url, size in candidates)
    assert [one.url for one in parse_srcset(value)] == [url for url, _ in candidates]
    assert choose_candidate(value) in [url for url, _ in candidates] or not candidates


@given(st.text(max_size=200))
def test_any_srcset_yields_parts_without_white_space(value: str) -> None:
    for url in (one.url for one in parse_srcset(value)):
        assert url in value and not re.search(r"[ \t\n\f\r]", url)


@pytest.mark.parametrize(
    ("style", "urls"),
    [
        ("a { background: url(x.png) }", ["x.png"]),
        ("a { background: URL( 'x y.png' ), url(\"z\") }", ["x y.png", "z"]),
        ("@import 'a'; @import \"b\" screen; @import url(c);", ["a", "b", "c"]),
        ("@import/**/'a.css';", ["a.css"]),
        ("@font-face { src: url(f.woff2) format('woff2'), url(f.woff) }", ["f.woff2", "f.woff"]),
        ("/* url(a) */ b { c: url(d) } /* @import 'e'", ["d"]),
        ("a::before { content: 'url(x)' } b { c: url(d) }", ["d"]),
        ("@namespace svg url(http://www.w3.org/2000/svg); b { c: url(d) }", ["d"]),
        ("a { b: my-url(x) }", []),
        ("a { b: image-set('a.avif' type('image/avif') 1x, \"b.png\" 2x); c: url(d) }",
         ["a.avif", "b.png", "d"]),
        ("a { b: -webkit-image-set(url(a.png) 1x, url('b).png') 2x); c: url(d) }",
         ["a.png", "b).png", "d"]),
        ("a { b: image-set(linear-gradient(red, blue) 1x, 'c' 2x) } d { e: my-image-set('f') }",
         ["c"]),
        ("a { b: image-set( 'c' 1x", ["c"]),
        (r"a { b: url(a\(1\).png); c: url('\66 oo'); d: url(\0) }", ["a(1).png", "foo", "\ufffd"]),
        ("a { b: url('x\n) } e { c: url(d) }", ["d"]),
        ("a { b: url( ) }", []),
        ("", []),
    ],
)  # fmt: skip
def test_urls_of_a_style(style: str, urls: list[str]) -> None:
    assert [*find_style_urls(style)] == urls


@given(st.text("url(@import'\"\\ /*;)\na0", max_size=200))
def test_any_style_is_scanned(style: str) -> None:
    for url in find_style_urls(style):
        assert url


@pytest.mark.parametrize(
    "part",
    [
        "/*", "url(", "image-set(", "image-set((", "image-set('", "image-set(a(' ", "@import ",
        "'", "\\", "@import/**/", "url('\\",
    ],
)  # fmt: skip
def test_hostile_styles_are_scanned_in_linear_time(part: str) -> None:
    # The scan of a quadratic pattern over a megabyte would not end within the test's time limit.
    assert not [url for url in find_style_urls(part * (1_000_000 // len(part))) if "(" not in url]


def test_a_style_has_requisites_relative_to_itself_and_no_text() -> None:
    style = response(b"@import '../b.css'; a { b: url(c.png), url(data:,x), url(#d), url(a.css) }")
    parsed = classify(style, parse(style, VISITED, NOW))
    assert names(parsed) == ["b.css", "css/c.png"]
    assert parsed.kind is PageKind.REQUISITE
    assert (parsed.text, parsed.links, parsed.hazards) == (None, (), ())


def test_a_redirect_of_a_requisite_has_its_target() -> None:
    moved = response(b"", 301, location="/new.css")
    parsed = classify(moved, parse(moved, VISITED, NOW))
    assert parsed.kind is PageKind.REQUISITE
    assert [PurePosixPath(link.url).name for link in parsed.links if link.redirect] == ["new.css"]


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (200, "text/css", True),
        (200, "image/png", False),
        (200, "text/html", False),
        (301, "text/html", True),
        (304, "text/css", False),
        (404, "text/css", False),
    ],
)
def test_only_styles_and_redirects_are_read(status: int, kind: str, expected: bool) -> None:
    assert is_read(response(b"a { b: c }", status, kind)) is expected
