"""Situations that people reported, each on a host of its own.

The home page of a host is a seed. A crawl requests each target that has an answer here, apart from
those that its author excluded, and no other: the rest would be inventions.
"""

import gzip
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import count

from backports import zstd

from tests.honest.page import prose_of
from tests.synthweb.answers import HTML, Answer
from tests.synthweb.robots import ROBOTS
from tests.synthweb.server import Head

Answers = Mapping[str, Answer | Callable[[Head], Answer]]
"""Request target → the answer."""


class Situation:
    """The answers of a host."""

    def __init__(
        self, reports: str, answer: Callable[[], Answers], excluded: frozenset[str]
    ) -> None:
        """*answer* returns the answers. *excluded*: targets that a crawl must not request."""
        self.reports, self.excluded = reports, excluded
        self._answer = answer

    @cached_property
    def answers(self) -> Answers:
        """The answers. Their texts are made when they are needed: that takes seconds."""
        return self._answer()

    @property
    def wanted(self) -> set[str]:
        """The targets that a crawl requests, apart from robots.txt."""
        return {*self.answers} - self.excluded - {ROBOTS}


SITUATIONS: dict[str, Situation] = {}
_numbers = count()


def situation(
    reports: str, *excluded: str
) -> Callable[[Callable[[], Answers]], Callable[[], Answers]]:
    """Add the situation of the decorated function; its host is `name.test`."""

    def add(answers: Callable[[], Answers]) -> Callable[[], Answers]:
        host = f"{answers.__name__.replace('_', '-')}.test"
        SITUATIONS[host] = Situation(reports, answers, frozenset(excluded))
        return answers

    return add


def page(*links: str, head: str = "", kind: str | None = HTML, **headers: str) -> Answer:
    """Return a page with a text of its own and *links*, each as it is in its attribute."""
    given = {"Content-Type": kind} if kind is not None else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(200, markup(*links, head=head), given | named)


def markup(*links: str, head: str = "") -> bytes:
    number = next(_numbers)
    anchors = "".join(f'<p><a href="{link}">More</a></p>\n' for link in links)
    text = prose_of(80, "reports", number)
    return f"<!DOCTYPE html>\n<title>Text {number}</title>{head}\n{text}{anchors}".encode()


def coded(coding: str, encode: Callable[[bytes], bytes], *links: str) -> Answer:
    headers = {"Content-Type": HTML, "Content-Encoding": coding}
    return Answer(200, encode(markup(*links)), headers)


def raw(*lines: str, body: bytes = b"") -> Answer:
    """Return an answer whose head is as it is written here."""
    return Answer(200, "\r\n".join([*lines, "", ""]).encode("latin-1") + body, manner="raw")


def robots(text: str, status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, text.encode(), {"Content-Type": "text/plain"} | named)


def mapped(*elements: str, root: str = "urlset", kind: str = "application/xml") -> Answer:
    return Answer(200, sitemap(*elements, root=root), {"Content-Type": kind})


def sitemap(*elements: str, root: str = "urlset") -> bytes:
    return f"<{root}>{''.join(elements)}</{root}>".encode()


def entry(target: str) -> str:
    return f"<url><loc>{target}</loc></url>"


def child(target: str) -> str:
    return f"<sitemap><loc>{target}</loc></sitemap>"


def moved(target: str, status: int = 301) -> Answer:
    return Answer(status, headers={"Location": target})


NAMED = robots("User-agent: *\nSitemap: /map.xml\n")


@situation("vufind-org/vufind#5259")
def empty_loc() -> Answers:
    found = mapped("<url><loc></loc></url>", "<url><loc/></url>", entry("/a"))
    return {ROBOTS: NAMED, "/": page(), "/map.xml": found, "/a": page()}


@situation("coleam00/Archon#607")
def page_that_is_called_sitemap() -> Answers:
    return {"/": page("/see-also/sitemap"), "/see-also/sitemap": page("/a"), "/a": page()}


@situation("ukwa/ukwa-heritrix#44")
def type_without_a_blank() -> Answers:
    doctype = b"<!DOCTYPE urlset PUBLIC \"-//X//DTD\"'/x.dtd'>"
    found = Answer(200, doctype + sitemap(entry("/a")), {"Content-Type": "text/xml"})
    return {ROBOTS: NAMED, "/": page(), "/map.xml": found, "/a": page()}


@situation("flairNLP/fundus#983")
def sitemaps_in_a_urlset() -> Answers:
    found = mapped(entry("/more.xml"))
    more = mapped(entry("/a"))
    return {ROBOTS: NAMED, "/": page(), "/map.xml": found, "/more.xml": more, "/a": page()}


@situation("LangStream/langstream#678; Canonry/canonry#358")
def children_of_an_index_that_are_none() -> Answers:
    index = mapped(child("/moved.xml"), child("/gone.xml"), child("/ok.xml"), root="sitemapindex")
    return {
        ROBOTS: NAMED,
        "/": page(),
        "/map.xml": index,
        "/moved.xml": moved("/overview"),
        "/overview": page(),
        "/gone.xml": Answer(404),
        "/ok.xml": mapped(entry("/a")),
        "/a": page(),
    }


@situation("Norconex/crawler#687, #688; Canonry/canonry#358; Webperf-se/webperf_core#40, #285")
def packed_sitemaps_of_any_type() -> Answers:
    kinds = ("gzip", "application/octet-stream", "text/xml", "x-gzip; charset=utf-8")
    index = mapped(*(child(f"/{n}.xml.gz") for n in range(len(kinds))), root="sitemapindex")
    packed = {
        f"/{n}.xml.gz": Answer(200, gzip.compress(sitemap(entry(f"/{n}"))), {"Content-Type": kind})
        for n, kind in enumerate(kinds)
    }
    pages = {f"/{n}": page() for n in range(len(kinds))}
    return {ROBOTS: NAMED, "/": page(), "/map.xml": index, **packed, **pages}


@situation("plone/volto#6562; GateNLP/ultimate-sitemap-parser#89; scrapy/scrapy#951")
def packed_sitemaps_that_are_not_or_twice() -> Answers:
    index = mapped(child("/plain.xml.gz"), child("/twice.xml.gz"), root="sitemapindex")
    twice = gzip.compress(gzip.compress(sitemap(entry("/b"))))
    headers = {"Content-Type": "application/x-gzip", "Content-Encoding": "gzip"}
    return {
        ROBOTS: NAMED,
        "/": page(),
        "/map.xml": index,
        "/plain.xml.gz": mapped(entry("/a"), kind="application/x-gzip; charset=utf-8"),
        "/twice.xml.gz": Answer(200, twice, headers),
        "/a": page(),
        "/b": page(),
    }


@situation("fljoly/xsitemap#4")
def lines_around_a_loc() -> Answers:
    index = mapped(child("\n  /more.xml\n"), root="sitemapindex")
    more = mapped(entry("\r\n\t/a \r\n"))
    return {ROBOTS: NAMED, "/": page(), "/map.xml": index, "/more.xml": more, "/a": page()}


@situation(
    "simplecrawler/simplecrawler#78; xroche/httrack#537; encode/httpx#821; pkp/pkp-lib#12375"
)
def redirect_to_itself_for_a_cookie() -> Answers:
    home = page("/a")

    def answer(head: Head) -> Answer:
        if "locale=en" in head.headers.get("cookie", ""):
            return home
        return Answer(302, headers={"Location": "/", "Set-Cookie": "locale=en; path=/"})

    return {"/": answer, "/a": page()}


OK, TYPE = "HTTP/1.1 200 OK", f"Content-Type: {HTML}"


@situation("AdguardTeam/AdguardForWindows#2188")
def folded_header() -> Answers:
    lines = (OK, "Strict-Transport-Security: max-age=0;", "    includeSubdomains", TYPE)
    return {"/": raw(*lines, body=markup("/a")), "/a": page()}


@situation(
    "aio-libs/aiohttp#262, #5355, #5730, #6525; denoland/deno#31932, #32566; tokuhirom/Furl#98"
)
def impossible_headers_and_no_word_before_the_close() -> Answers:
    lines = (OK, 'X-Echo set USER: "x"', "X-Odd: a\x01b", "X-Protection=1;", ": none", TYPE)
    return {"/": raw(*lines, body=markup("/a")), "/a": raw(OK, TYPE, body=markup())}


@situation("php/frankenphp#1738; snoyberg/http-client#83; curl/curl#4445, #12147")
def blanks_in_location() -> Answers:
    def redirect(location: str) -> Answer:
        return raw("HTTP/1.1 302 Found", f"Location:{location}", "Content-Length: 0")

    return {
        "/": page("/1", "/2", "/3"),
        "/1": redirect("/none"),
        "/none": page(),
        "/2": redirect(" /in side?a b"),
        "/in%20side?a%20b": page(),
        "/3": redirect(" /behind/\t\t\t "),
        "/behind/": page(),
    }


@situation("ning/async-http-client#13; SerenityOS/serenity#2924; httpwg/http-bis-issues#6")
def relative_location() -> Answers:
    return {
        "/": page("/x/1", "/x/2", "/x/3"),
        "/x/1": moved("here#part"),
        "/x/here": page(),
        "/x/2": moved("?page=2", 302),
        "/x/2?page=2": page(),
        "/x/3": moved("../up", 303),
        "/up": page(),
    }


@situation("andreburgaud/robotspy#223")
def agent_that_begins_with_a_digit() -> Answers:
    rules = "User-agent: *\nDisallow: /internal\n\nUser-agent: 5emeRue\nDisallow: /\n"
    return {ROBOTS: robots(rules), "/": page("/a"), "/a": page()}


@situation("getmunin/munin#745")
def group_of_signals_before_an_agent() -> Answers:
    signals = "Content-Signal: search=yes,ai-train=no,use=reference\nAllow: /\n\n"
    rules = f"User-agent: *\n{signals}User-agent: Amazonbot\nDisallow: /\n"
    return {ROBOTS: robots(rules), "/": page("/a"), "/a": page()}


@situation("xroche/httrack#1702", "/own", "/again")
def groups_of_our_own() -> Answers:
    rules = (
        "User-agent: gossamer\n\nUser-agent: other\nDisallow: /own\n\nUser-agent: *\n"
        "Disallow: /all\n\nUser-agent: Gossamer\nDisallow: /again\n"
    )
    links = ("/own", "/all", "/again")
    return {ROBOTS: robots(rules), "/": page(*links)} | {link: page() for link in links}


@situation(
    "scrapy/scrapy#6195; LAW-Unimi/BUbiNG#17; seomoz/rep-cpp#13; lightpanda-io/browser#1520",
    "/private",
)
def mark_before_the_rules() -> Answers:
    rules = robots("\ufeffUser-agent: *\r\nDisallow: /private\r\n")
    return {ROBOTS: rules, "/": page("/private", "/a"), "/private": page(), "/a": page()}


@situation(
    "scrapy/scrapy#2388; pomerantsev/accented#307; xorbitsai/xagent#2043; konippi/servo-fetch#113"
)
def page_in_place_of_rules() -> Answers:
    kind = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
    refusal = Answer(403, b"<?xml version='1.0'?><html><title>Forbidden</title>", headers)
    return {ROBOTS: refusal, "/": page("/a"), "/a": page()}


@situation("apache/stormcrawler#1058, #1074", "/private")
def rules_behind_five_redirects() -> Answers:
    hops = {f"/r{n}": moved(f"/r{n + 1}") for n in range(1, 5)}
    rules = robots("User-agent: *\nDisallow: /private\n")
    home = {"/": page("/private", "/a"), "/private": page(), "/a": page()}
    return {ROBOTS: moved("/r1"), **hops, "/r5": rules, **home}


@situation(
    "crawler-commons/crawler-commons#195, #408; google/robotstxt#57",
    "/d/a%2Fb",
    "/file-with-a-*.html",
)
def escaped_characters_in_rules() -> Answers:
    rules = robots("User-agent: *\nDisallow: /d/*%2F\nDisallow: /file-with-a-%2A.html\n")
    links = ("/d/a%2Fb", "/d/a/b", "/file-with-a-*.html", "/file-with-a-b.html")
    return {ROBOTS: rules, "/": page(*links)} | {link: page() for link in links}


@situation(
    "internetarchive/heritrix3#656; xroche/httrack#452; chrisakroyd/robots-txt-parser#1", "/x"
)
def rules_with_special_characters() -> Answers:
    rules = robots("User-agent: *\nDisallow: /\nAllow: /$\nAllow: /public/*/ok$\n")
    links = ("/x", "/public/a/ok")
    return {ROBOTS: rules, "/": page(*links)} | {link: page() for link in links}


@situation("ropensci/robotstxt#48")
def delay_for_another_agent() -> Answers:
    rules = robots("User-agent: *\nDisallow: /print$\n\nUser-agent: AhrefsBot\nCrawl-delay: 9000\n")
    return {ROBOTS: rules, "/": page("/a"), "/a": page()}


@situation(
    "apache/stormcrawler#350, #1020; asciimoo/morty#20; zaproxy/zaproxy#5795; "
    "Norconex/crawler#141; simplecrawler/simplecrawler#281; whatwg/html#246"
)
def refresh_in_many_forms() -> Answers:
    forms = (
        '<meta http-equiv="refresh" content="0;url=\'/to-0\'">',
        "<META HTTP-EQUIV=REFRESH CONTENT='0; URL=/to-1'></META>",
        '<meta content="1 ; url = /to-2" http-equiv=Refresh />',
        '<meta http-equiv="refresh" content="0 url=/to-3">',
        '<meta http-equiv="refresh" content="0;/to-4">',
    )
    pages = {
        f"/{n}": Answer(200, form.encode(), {"Content-Type": HTML}) for n, form in enumerate(forms)
    }
    targets = {f"/to-{n}": page() for n in range(len(forms))}
    return {"/": page(*pages)} | pages | targets


@situation(
    "janreges/siteone-crawler#68; every-app/open-seo#312; Norconex/crawler#188; "
    "fcavallarin/htcap#10; yasserg/crawler4j#390; code4craft/webmagic#220"
)
def base_of_links() -> Answers:
    return {
        "/": page("/blog/post", "/x/root", "/x/second"),
        "/blog/post": page("guide", head='<base href="/en/">'),
        "/en/guide": page(),
        "/x/root": page("a", head="<base href=/ />"),
        "/a": page(),
        "/x/second": page("b", head="<base target=_self><base href='/y/'><base href='/z/'>"),
        "/y/b": page(),
    }


@situation(
    "scrapy/scrapy#6063; projectdiscovery/nuclei#779; BuaBook/kdb-common#55; "
    "vladkens/twscrape#230; daijro/hrequests#74"
)
def content_codings() -> Answers:
    codings = (
        coded("gzip, deflate", lambda body: zlib.compress(gzip.compress(body)), "/to-0"),
        coded("gzip", lambda body: body, "/to-1"),
        coded("X-GZip", gzip.compress, "/to-2"),
        coded("zstd", zstd.compress, "/to-3"),
        coded("deflate", lambda body: zlib.compress(body)[2:-4], "/to-4"),
    )
    pages = {f"/{n}": answer for n, answer in enumerate(codings)}
    return {"/": page(*pages)} | pages | {f"/to-{n}": page() for n in range(len(codings))}


@situation(
    "bda-research/node-crawler#320; validator/validator#301; thechangelog/ping#848; "
    "Norconex/crawler#578; postmodern/spidr#32; aio-libs/aiohttp#9522"
)
def types_of_pages() -> Answers:
    kinds = (
        "text/html; charset=none",
        'text/html; name="x.html"; charset=',
        "text/html; charset=utf-8; charset=utf-8",
        'text/html;charset="UTF-8"',
        None,
        "html",
    )
    pages = {f"/{n}": page(f"/to-{n}", kind=kind) for n, kind in enumerate(kinds)}
    return {"/": page(*pages)} | pages | {f"/to-{n}": page() for n in range(len(kinds))}


@situation(
    "hahwul/gori#911; fredwu/crawler#12; evolvingweb/sitediff#161; soulgalore/crawler#12; "
    "medialab/hyphe#248; simplecrawler/simplecrawler#186; linkchecker/linkchecker#520; "
    "jaeksoft/opensearchserver#1031"
)
def links_as_they_are_written() -> Answers:
    written = {
        "?id=5&amp;view=full": "/?id=5&view=full",
        "?id=6&#38;view=full": "/?id=6&view=full",
        "?id=7&#x26;view=full": "/?id=7&view=full",
        "?id=8&view=full": "/?id=8&view=full",
        "/North America": "/North%20America",
        "  /around\n ": "/around",
        "/in\n\tside": "/inside",
        "/_page:4_": "/_page:4_",
        "/paren-(example).html": "/paren-(example).html",
        "/a%5Cb": "/a%5Cb",
        "/b%7Cc|d": "/b%7Cc|d",
    }
    return {"/": page(*written)} | {target: page() for target in written.values()}


@situation("Norconex/crawler#165")
def escaped_canonical() -> Answers:
    link = '<link rel="canonical" href="/c?a=1&amp;b=2">'
    return {"/": page(head=link), "/c?a=1&b=2": page()}


@situation("openwrt/asu#79; uphold/koa-pagination#15")
def part_that_nobody_asked_for() -> Answers:
    part = Answer(206, markup("/a"), {"Content-Type": HTML})
    return {"/": page("/part"), "/part": part, "/a": page()}
