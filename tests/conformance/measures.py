"""Results of our code on third-party test data, which tests assert and docs publish."""

import gzip
import json
import re
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from gossamer.events import PageParsed, Purpose
from gossamer.services.dedup.content import distance
from gossamer.services.parser.charset import decode_text
from gossamer.services.parser.page import parse
from gossamer.services.parser.simhash import simhash_of
from gossamer.settings import DedupSettings, FetcherSettings
from gossamer.web.cookies import Jar, cookie_date
from gossamer.web.robots import parse_robots
from gossamer.web.url import BAD_PORTS, BadUrl, canonicalize, host_name
from tests.parser.pages import NOW, OPTIONS, URL, page_response


class Deviation(NamedTuple):
    """A case in which we deliberately decide differently from the suite."""

    case: str
    decision: str
    reason: str


@dataclass
class Agreement:
    """The number of cases of a suite that end as it expects."""

    cases: int = 0
    deviations: list[Deviation] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Cases that end differently than the suite expects, or than we promise, without a reason."""

    @property
    def agreed(self) -> int:
        """Return the number of cases that end as the suite expects."""
        return self.cases - len(self.deviations) - len(self.failures)

    def count(self, case: str, agrees: bool, deviation: Deviation | None = None) -> None:
        """Count *case*. A *deviation* that agrees is a failure: its reason no longer holds."""
        self.cases += 1
        if deviation and not agrees:
            self.deviations.append(deviation)
        elif deviation or not agrees:
            self.failures.append(case)


ALWAYS_ALLOWED = "RFC 9309, 2.2.2: `/robots.txt` is implicitly allowed"
NOT_ASCII = (
    "RFC 9309, 2.2.2: octets outside ASCII are percent-encoded before they are compared; "
    "Google's parser leaves that to its caller"
)
UNRESERVED = (
    "RFC 9309, 2.2.2: percent-encoded unreserved octets are decoded before they are compared; "
    "Google's parser leaves that to its caller"
)
EXTENSION = (
    "RFC 9309, 2.2.2 compares paths; that `/index.html` also stands for `/` is Google's extension"
)
ROBOTS_DEVIATIONS = {
    ("327748.textproto", "asdfbot", "http://m.example.com/robots.txt"): ALWAYS_ALLOWED,
    ("369883.textproto", "BarBot", "http://example.com/robots.txt"): ALWAYS_ALLOWED,
    ("369883.textproto", "AB", "http://example.com/robots.txt"): ALWAYS_ALLOWED,
    ("860237.textproto", "XYZ", "http://example.com/robots.txt"): ALWAYS_ALLOWED,
    ("non-ascii-paths.textproto", "FooBot", "http://foo.bar/foo/bar/ツ"): NOT_ASCII,
    ("non-ascii-paths.textproto", "FooBot", "http://foo.bar/foo/bar/baz"): UNRESERVED,
    ("index-page.textproto", "foobot", "http://foo.com/allowed-slash/"): EXTENSION,
}
"""File, agent and URL → reason why we decide differently from Google."""


def measure_robots(folder: Path) -> Agreement:
    """Decide Google's cases for the product token of each case."""
    found = Agreement()
    for case in _read_json_lines(folder / "robots-google-spec.jsonl.gz"):
        body = case["robots"].encode("latin-1")
        read = parse_robots(body, case["agent"], 0.0, 0.0, "http://example.org/robots.txt", False)
        allowed = read.rules.allows(case["url"])
        reason = ROBOTS_DEVIATIONS.get((case["file"], case["agent"], case["url"]))
        name = f"`{case['file']}`: {case['url']}"
        deviation = Deviation(name, "allowed" if allowed else "disallowed", reason or "")
        found.count(name, allowed == case["allowed"], deviation if reason else None)
    return found


FORBIDDEN_PORT = "The Fetch standard blocks requests to this port"
NO_NAME = "We remove the root dot from a host's name; nothing is left of this one"
TOUCHED = re.compile(r"[%#@]|\.(:\d+)?/")
"""Parts that our own steps may change in a URL in the standard's form."""


def measure_urls(folder: Path) -> Agreement:
    """Canonicalize URLs of the URL standard's tests, invalid ones included.

    A Web URL agrees if its canonical form is the standard's own form.
    """
    found = Agreement()
    for case in _read_cases(folder / "url-wpt-urltestdata.json"):
        spelt = _canonicalize(case["input"], case["base"] or "")
        name = f"`{case['input']}`"
        if case.get("failure"):
            found.count(name, spelt is None)
        elif case["protocol"] in ("http:", "https:"):
            expected = _canonicalize(case["href"])
            exact = TOUCHED.search(case["href"]) or spelt == case["href"]
            agrees = spelt is not None and spelt == expected and bool(exact)
            found.count(name, agrees, _url_deviation(case))
    return found


def _url_deviation(case: dict[str, Any]) -> Deviation | None:
    name = f"`{case['href']}`"
    if int(case["port"] or 80) in BAD_PORTS:
        return Deviation(name, "refused", FORBIDDEN_PORT)
    if not case["hostname"].strip(".") or case["hostname"].endswith(".."):
        return Deviation(name, "refused", NO_NAME)
    return None


def measure_other_schemes(folder: Path) -> Agreement:
    """Canonicalize URLs that the URL standard accepts and that are not Web URLs: they are
    refused."""
    found = Agreement()
    for case in _read_cases(folder / "url-wpt-urltestdata.json"):
        if case.get("href") and case["protocol"] not in ("http:", "https:"):
            spelt = _canonicalize(case["input"], case["base"] or "")
            found.count(case["input"], spelt is None)
    return found


def measure_domains(folder: Path) -> Agreement:
    """Canonicalize URLs with international domain names."""
    found = Agreement()
    for case in _read_cases(folder / "url-wpt-toascii.json"):
        spelt = _canonicalize(f"http://{case['input']}/")
        found.count(case["input"], (host_name(spelt) if spelt else None) == case["output"])
    return found


def _canonicalize(url: str, base: str = "") -> str | None:
    try:
        return canonicalize(url, base)
    except BadUrl:
        return None


def measure_encodings(folder: Path) -> Agreement:
    """Detect the encoding of pages by their first bytes.

    One byte that is not UTF-8 is added to each page: we test for UTF-8 before `meta`.
    """
    found = Agreement()
    for name in ("tests1", "tests2", "test-yahoo-jp"):
        parts = re.split(rb"(?:^|\n)#data\n", (folder / f"encoding-{name}.dat").read_bytes())[1:]
        for data, expected in (part.rsplit(b"\n#encoding\n", 1) for part in parts):
            encoding = decode_text(data + b"\xfe", "text/html", is_html=True).encoding
            agrees = encoding == expected.decode().strip().lower()
            found.count(f"{name}: {data[:200]!r}: {encoding}", agrees)
    return found


LISTING_ENTRIES = {
    "atom.xml": 2,
    "do-not-visit.txt": 1,
    "feed.rss": 4,
    "hebdenbridgetimes-articles-sitemap.xml": 74,
    "pagemaps-sitemap.xml": 2,
    "shinpaideshou-news-sitemap.xml": 3,
    "sitemap-images.xml": 1,
    "sitemap-links.xml": 3,
    "sitemap-mobile.xml": 3,
    "sitemap-news.xml": 2,
    "sitemap-videos-tvshow.xml": 1,
    "sitemap-videos.xml": 3,
    "sitemap-with-bom.txt": 2,
    "sitemap.badns.xml": 2,
    "sitemap.index.xml": 15,
    "sitemap.ns.xml": 2,
    "sitemap.txt": 2,
    "sitemap.txt.gz": 5,
    "xmlRss_pubDate.xml": 7,
    "xmlSitemap.gz": 5,
}
"""The number of entries in each file of crawler-commons."""
LISTING_TYPES = {".gz": "application/gzip", ".txt": "text/plain", ".rss": "application/rss+xml"}


def measure_sitemaps(folder: Path) -> Agreement:
    """Read sitemaps and feeds. Each must have all entries and no hazard."""
    found = Agreement()
    for file in sorted((folder / "sitemaps").iterdir()):
        kind = LISTING_TYPES.get(file.suffix, "application/xml")
        page = page_response(
            file.read_bytes(),
            ("Content-Type", kind),
            url="http://www.example.org/maps/sitemap.xml",
            purpose=Purpose.SITEMAP,
        )
        parsed = parse(page, OPTIONS, NOW)
        is_whole = len(parsed.entries) == LISTING_ENTRIES[file.name] and not parsed.hazards
        found.count(file.name, bool(parsed.listing) and is_whole)
    return found


COOKIES_AT = datetime(2010, 1, 4, tzinfo=UTC).timestamp()
"""When the cookies of http-state are set: some expire in 2019."""
NAMELESS = "RFC 6265bis, 5.6: a cookie without a name is stored and sent, as in browsers"
CONTROL_CHARACTER = "RFC 6265bis, 5.6: a cookie with a control character is ignored"
COOKIE_DEVIATIONS = {
    **dict.fromkeys(
        (
            *("0004", "0021", "0023", "0024", "0025", "0026", "0027", "0028"),
            *("CHROMIUM0009", "CHROMIUM0010", "CHROMIUM0012"),
            *("MOZILLA0012", "MOZILLA0014", "MOZILLA0015", "MOZILLA0016", "MOZILLA0017"),
            *("NAME0017", "NAME0023", "NAME0025", "NAME0028", "NAME0031", "NAME0032", "NAME0033"),
        ),
        NAMELESS,
    ),
    **dict.fromkeys(("DISABLED_CHROMIUM0022", "DISABLED_CHROMIUM0023"), CONTROL_CHARACTER),
}
"""Test of http-state → reason why we decide differently."""


def measure_web_cookies(folder: Path) -> Agreement:
    """Set and send the cookies of web-platform-tests. All texts are octets, as Latin-1."""
    found = Agreement()
    for case in _read_json_lines(folder / "wpt.jsonl.gz"):
        sent = _sent_cookies(case["at"], case["set"], case["to"])
        found.count(f"{case['file']}: {case['set']}", sent == case["sent"])
    return found


def measure_cookies(folder: Path) -> Agreement:
    """Set and send the cookies of http-state, which are UTF-8."""
    found = Agreement()
    for case in json.loads((folder / "http-state.json").read_text(encoding="utf-8")):
        test = case["test"]
        to = urljoin("http://home.example.org/cookie-parser-result", case.get("sent-to", ""))
        received = [text.encode().decode("latin-1") for text in case["received"]]
        sent = _sent_cookies("http://home.example.org/cookie-parser", received, to)
        expected = "; ".join(f"{one['name']}={one['value']}" for one in case["sent"])
        reason = COOKIE_DEVIATIONS.get(test)
        deviation = Deviation(
            f"`{test}`: `{case['received']}`", f"`{sent}`" if sent else "nothing", reason or ""
        )
        agrees = sent.encode("latin-1") == expected.encode()
        found.count(test, agrees, deviation if reason else None)
    return found


def _sent_cookies(at: str, received: list[str], to: str) -> str:
    jar = Jar((), FetcherSettings().cookies, FetcherSettings().cookie_size)
    jar.take(canonicalize(at), tuple(("Set-Cookie", text) for text in received), COOKIES_AT)
    return dict(jar.header(canonicalize(to), COOKIES_AT + 1)).get("Cookie", "")


def measure_cookie_dates(folder: Path) -> Agreement:
    """Read the dates of http-state."""
    found = Agreement()
    for name in ("http-state-dates.json", "http-state-bsd-dates.json"):
        text = re.sub(r"^//.*$", "", (folder / name).read_text(encoding="utf-8"), flags=re.M)
        for case in json.loads(text):
            named = case["expected"]
            expected = parsedate_to_datetime(named).timestamp() if named else None
            found.count(f"`{case['test']}`", cookie_date(case["test"]) == expected)
    return found


NEAR_SIMILARITY = 0.9
"""The minimum fraction of words that two near duplicates have in common."""
SIMHASH_WORDS = 50
"""A text with fewer words has no simhash."""


class TextPair(NamedTuple):
    """A pair of texts."""

    distance: int
    """The number of bits in which their simhashes differ."""
    similarity: float


class Precision(NamedTuple):
    """The quality of a limit on the distance of near duplicates."""

    pairs: int
    near: int
    """Pairs that are near duplicates by their words."""
    found: int
    correct: int
    """Pairs that are detected and near duplicates."""

    @property
    def precision(self) -> float:
        """Return the fraction of detected pairs that are near duplicates."""
        return self.correct / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Return the fraction of near duplicates that are detected."""
        return self.correct / self.near


def measure_near_duplicates(folder: Path) -> Precision:
    """Compare pairs of texts by their simhashes, with default settings."""
    pairs = compare_pairs(folder / "near-duplicate-pairs.jsonl.gz")
    return count_found(pairs, DedupSettings().near_distance)


def compare_pairs(file: Path) -> list[TextPair]:
    """Return the pairs in *file* in which both texts have a simhash."""
    found = []
    for pair in _read_json_lines(file):
        one, other = (simhash_of(pair[which], SIMHASH_WORDS) for which in "ab")
        if one and other:
            found.append(TextPair(distance(one, other), pair["similarity"]))
    return found


def count_found(pairs: list[TextPair], limit: int) -> Precision:
    """Return the pairs that are detected if simhashes may differ in *limit* bits."""
    near = [pair.similarity >= NEAR_SIMILARITY for pair in pairs]
    found = [pair.distance <= limit for pair in pairs]
    correct = sum(a and b for a, b in zip(near, found, strict=True))
    return Precision(len(pairs), sum(near), sum(found), correct)


class MainText(NamedTuple):
    """The main text of a page."""

    kind: str
    """The kind of the page, such as `forum`."""
    parsed: PageParsed
    f1: float
    recall: float


class MainTexts(list[MainText]):
    """The main texts of all pages."""

    @property
    def mean_f1(self) -> float:
        """Return the mean F1 over all pages; it is 0 for a page without a text."""
        return sum(one.f1 for one in self) / len(self)

    @property
    def mean_recall(self) -> float:
        """Return the mean recall over all pages; it is 0 for a page without a text."""
        return sum(one.recall for one in self) / len(self)

    @property
    def without_text(self) -> int:
        """Return the number of pages without a main text."""
        return sum(not one.parsed.text for one in self)

    def by_kind(self) -> dict[str, "MainTexts"]:
        """Return the main texts of each kind of page, in alphabetical order."""
        kinds = sorted({one.kind for one in self})
        return {kind: MainTexts(one for one in self if one.kind == kind) for kind in kinds}


def measure_main_texts(folder: Path) -> MainTexts:
    """Read article pages, and compare their main texts with the true ones."""
    truth = json.loads(gzip.decompress((folder / "pages-ground-truth.json.gz").read_bytes()))
    files = sorted((folder / "pages").glob("*.html.gz"))
    true_texts = (truth[file.name.removesuffix(".html.gz")]["articleBody"] for file in files)
    return MainTexts(
        _read_main_text("article", file, true) for file, true in zip(files, true_texts, strict=True)
    )


def measure_page_kinds(folder: Path) -> MainTexts:
    """Read pages of other kinds, and compare their main texts with the true ones."""
    found = MainTexts()
    for file in sorted((folder / "page-kinds").glob("*.json")):
        truth = json.loads(file.read_bytes())
        kind, true = truth["_internal"]["page_type"]["primary"], truth["ground_truth"]
        page = file.with_suffix(".html.gz")
        found.append(_read_main_text(kind, page, true["main_content"]))
    return found


def _read_main_text(kind: str, page: Path, true: str) -> MainText:
    headers = ("Content-Type", "text/html"), ("Content-Encoding", "gzip")
    parsed = parse(page_response(page.read_bytes(), *headers, url=URL), OPTIONS, NOW)
    return MainText(kind, parsed, *f1_and_recall(parsed.text or "", true))


def f1_and_recall(found: str, true: str) -> tuple[float, float]:
    """Return the harmonic mean of precision and recall of the words of *found*, and recall."""
    found_words, true_words = _words(found), _words(true)
    both = (found_words & true_words).total()
    return 2 * both / (found_words.total() + true_words.total()), both / true_words.total()


def _words(text: str) -> Counter[str]:
    table = str.maketrans(string.punctuation, " " * len(string.punctuation))
    return Counter(text.lower().translate(table).split())


def _read_json_lines(file: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, gzip.decompress(file.read_bytes()).splitlines())


def _read_cases(file: Path) -> list[dict[str, Any]]:
    """Return the cases of a list of web-platform-tests, without its comments."""
    return [one for one in json.loads(file.read_text(encoding="utf-8")) if isinstance(one, dict)]
