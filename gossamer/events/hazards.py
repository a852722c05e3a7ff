"""The hazards of the Web that are counted: who counts each, and which settings bound it.

`HAZARDS` is the only place where that is written. A hazard is counted once, although its name
travels on: a truncated page's is in the `VisitEnded`, in the page's events and in the archive.
Metric and report go by the table: a service adds to the metric only what it counts, and the
frontier adds to the report only what the event's sender counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gossamer.events.outcomes import check_complete
from gossamer.telemetry import count


class Hazard(StrEnum):
    """The names under which hazards of the Web are counted, in metric, report and archive."""

    DNS_FAILURE = "dns_failure"
    DNS_OUTAGE = "dns_outage"
    DNS_MALFORMED = "dns_malformed"
    DNS_WILDCARD = "dns_wildcard"
    HOST_DOWN = "host_down"
    TLS_FAILURE = "tls_failure"
    SILENT_SERVER = "silent_server"
    SLOW_TRANSFER = "slow_transfer"
    CUT_SHORT = "cut_short"
    INFINITE_BODY = "infinite_body"
    TRAP_TIME = "trap_time"
    DECOMPRESSION_BOMB = "decompression_bomb"
    PRIVATE_ADDRESS = "private_address"
    REDIRECT = "redirect"
    BAD_REDIRECT = "bad_redirect"
    MISSING_HEADERS = "missing_headers"
    RANGE_ERROR = "range_error"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    UNWANTED_TYPE = "unwanted_type"
    SOFT_404 = "soft_404"
    WRONG_DATE = "wrong_date"
    RETRY_AFTER = "retry_after"
    MALFORMED_URL = "malformed_url"
    NON_WEB_LINK = "non_web_link"
    URL_TOO_LONG = "url_too_long"
    TOO_MANY_LINKS = "too_many_links"
    NOINDEX = "noindex"
    NOFOLLOW = "nofollow"
    SESSION_ID = "session_id"
    DIRECTORY_REORDER = "directory_reorder"
    DEFAULT_DOCUMENT = "default_document"
    REPEATED_PATH = "repeated_path"
    WWW_ALIAS = "www_alias"
    DUPHOST = "duphost"
    SCRIPT_LINKS = "script_links"
    TRAP_HOSTS = "trap_hosts"
    TRAP_URLS = "trap_urls"
    TRAP_DEPTH = "trap_depth"
    OUT_OF_SCOPE = "out_of_scope"
    BLACKLISTED = "blacklisted"
    ROBOTS_MALFORMED = "robots_malformed"
    ROBOTS_EXCLUDED = "robots_excluded"
    MALFORMED_HTML = "malformed_html"
    PARSER_FAULT = "parser_fault"
    CHARSET_CONFLICT = "charset_conflict"
    MISREAD_TEXT = "misread_text"
    PHYSICAL_MARKUP = "physical_markup"
    EXACT_DUPLICATE = "exact_duplicate"
    TRAP_DUPLICATES = "trap_duplicates"
    IRRELEVANT = "irrelevant"
    CLASSIFIER_FAILED = "classifier_failed"


@dataclass(frozen=True)
class Counting:
    """What a hazard is, and who counts it."""

    services: tuple[str, ...]
    """Those that count it: two only where they meet it in different URLs."""
    settings: tuple[str, ...]
    """Dotted names of the settings that say when it is one, or what is done about it."""
    text: str
    """The condition, in a sentence."""


# fmt: off
HAZARDS: dict[Hazard, Counting] = {
    Hazard.DNS_FAILURE: Counting(("fetcher",), ("frontier.dns_wait",),
        "The host's name does not exist, or has no address."),
    Hazard.DNS_OUTAGE: Counting(("fetcher",), ("fetcher.outage_share",),
        "Most names everywhere do not resolve, nor do those that did before: nothing is begun for "
        "a while, and nobody blamed. Counted when it begins."),
    Hazard.DNS_MALFORMED: Counting(("fetcher",), (),
        "A name server's answer is broken: what is sound of it is used."),
    Hazard.DNS_WILDCARD: Counting(("fetcher",), (),
        "A name that nobody has resolves in the host's domain. Counted once a domain and fetcher."),
    Hazard.HOST_DOWN: Counting(
        ("fetcher",), ("fetcher.connect_limit", "frontier.down_wait", "frontier.retries"),
        "No connection could be made: refused, unreachable or not in time."),
    Hazard.TLS_FAILURE: Counting(
        ("fetcher",), ("fetcher.connect_limit", "frontier.down_wait", "frontier.retries"),
        "The certificate is refused, or TLS fails for another reason."),
    Hazard.SILENT_SERVER: Counting(("fetcher",), ("fetcher.first_byte_limit", "frontier.retries"),
        "The request was sent and no byte came back in time."),
    Hazard.SLOW_TRANSFER: Counting(
        ("fetcher",),
        ("fetcher.between_bytes_limit", "fetcher.slow_rate", "fetcher.slow_window"),
        "The body stopped coming before its end, or came too slowly, and was cut."),
    Hazard.CUT_SHORT: Counting(("fetcher",), (),
        "The connection broke before the end of the body."),
    Hazard.INFINITE_BODY: Counting(
        ("fetcher",), ("fetcher.body_limit", "fetcher.pdf_limit", "fetcher.sitemap_limit"),
        "The body is larger than what is read of one, and was cut."),
    Hazard.TRAP_TIME: Counting(("fetcher",), ("fetcher.visit_limit",),
        "The visit took longer than one may, and the body was cut."),
    Hazard.DECOMPRESSION_BOMB: Counting(
        ("parser",), (
            "parser.decoded_limit", "parser.pdf_limit", "parser.sitemap_limit",
            "parser.ratio_limit",
        ),
        "A small encoded body becomes absurdly large."),
    Hazard.PRIVATE_ADDRESS: Counting(("fetcher",), ("fetcher.allow_networks",),
        "All addresses of the host are outside the public Internet."),
    Hazard.REDIRECT: Counting(("fetcher",), ("frontier.hops_limit",),
        "The answer is a redirect with a usable target."),
    Hazard.BAD_REDIRECT: Counting(("fetcher",), (),
        "The answer is a redirect without a usable target."),
    Hazard.MISSING_HEADERS: Counting(("fetcher",), ("fetcher.head_limit",),
        "The answer is not HTTP: no status line, no headers, or headers without an end."),
    Hazard.RANGE_ERROR: Counting(("fetcher",), ("fetcher.ranges",),
        "The server answers 416 where as much of a document was asked for as is read: it was asked "
        "once more, for all of it."),
    Hazard.WRONG_CONTENT_TYPE: Counting(("fetcher", "parser"), (),
        "The body is not of the type that its Content-Type names; counted by the fetcher where it "
        "is not read for that."),
    Hazard.UNWANTED_TYPE: Counting(("fetcher",), ("fetcher.types",),
        "The answer is of a type that is not read."),
    Hazard.SOFT_404: Counting(("parser",), ("frontier.probe_after",),
        "A page, or where a redirect leads, is what its host answers where it has no page: it is "
        "not published, nor are its links followed."),
    Hazard.WRONG_DATE: Counting(("parser",), (),
        "Last-Modified is of before 1993, or of the future: it says nothing or, up to a day ahead, "
        "that the page has changed now."),
    Hazard.RETRY_AFTER: Counting(("fetcher",), ("frontier.retry_after_limit",),
        "The server says for how long it wants to be left alone."),
    Hazard.MALFORMED_URL: Counting(("parser",), (),
        "A page has links that are no URLs to visit; counted once a page."),
    Hazard.NON_WEB_LINK: Counting(("parser",), (),
        "A page has links such as mailto:, tel: and javascript:; counted once a page."),
    Hazard.URL_TOO_LONG: Counting(("parser", "dedup"), ("dedup.url_limit",),
        "A page has links that are longer than is followed; counted once a page, by the parser "
        "where they are longer than 2,000 characters."),
    Hazard.SESSION_ID: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links with a session identifier, which is dropped; counted once a page."),
    Hazard.DIRECTORY_REORDER: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links that only sort a listing otherwise, taken for the directory; counted "
        "once a page."),
    Hazard.DEFAULT_DOCUMENT: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links such as index.html, taken for the directory; counted once a page."),
    Hazard.REPEATED_PATH: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links whose path repeats itself, which are not followed; counted once a page."),
    Hazard.WWW_ALIAS: Counting(("dedup",), ("dedup.www_alias", "dedup.duphost_age"),
        "Two hosts whose names differ in www. alone are one: links to this one are taken for links "
        "to the other. Counted when that is proven."),
    Hazard.DUPHOST: Counting(
        ("dedup",), ("dedup.duphost", "dedup.duphost_age", "dedup.duphosts"),
        "A host serves the pages of another one: links to it are taken for links there. Counted "
        "when that is proven."),
    Hazard.TOO_MANY_LINKS: Counting(
        ("parser",), ("parser.links_limit", "parser.links_bytes", "parser.entries_limit"),
        "A page has more links than are taken of one, or longer ones, or a sitemap more entries: "
        "the rest is left out."),
    Hazard.NOINDEX: Counting(("parser",), ("parser.not_indexed",),
        "A page asks not to be indexed: it is not published."),
    Hazard.NOFOLLOW: Counting(("parser",), ("parser.not_followed",),
        "A page asks that its links, or some of them, are not followed; counted once a page."),
    Hazard.SCRIPT_LINKS: Counting(("parser",), ("parser.script_links",),
        "A page has what looks like links of its site in scripts or in the handlers of events: it "
        "is tried last, and of a host that has none there soon no more. Counted once a page."),
    Hazard.TRAP_HOSTS: Counting(("frontier",), ("frontier.host_budget",),
        "A URL is of one more host than are taken of its site, and no seed."),
    Hazard.TRAP_URLS: Counting(("frontier",), ("frontier.url_budget",),
        "A URL is beyond what is taken of its host."),
    Hazard.TRAP_DEPTH: Counting(("frontier",), ("crawl.max_depth",),
        "A URL that was admitted is more links away from a seed than the crawl now follows."),
    Hazard.OUT_OF_SCOPE: Counting(("frontier",), ("crawl.scope",),
        "A URL that was admitted is outside the scope that the crawl has now."),
    Hazard.BLACKLISTED: Counting(("dedup", "frontier", "fetcher"), (),
        "Somebody has forbidden a URL (gossamer block): when it is admitted, or its turn comes; or "
        "the network that its host is in. Of links that are parked counted once a page."),
    Hazard.ROBOTS_MALFORMED: Counting(("fetcher",), ("fetcher.robots_limit",),
        "A robots.txt has lines that are not as RFC 9309 has them, and is read as it was meant."),
    Hazard.ROBOTS_EXCLUDED: Counting(
        ("frontier", "fetcher"), ("fetcher.product", "fetcher.robots_age"),
        "robots.txt forbids a URL: when it is admitted, or just before the request."),
    Hazard.MALFORMED_HTML: Counting(("parser",), (),
        "Elements or attributes that would take a parser of HTML quadratic time; the rest is cut."),
    Hazard.PARSER_FAULT: Counting(
        ("parser",),
        ("parser.page_limit", "parser.memory_limit", "parser.letters_limit",
         "frontier.unreadable_limit", "frontier.unreadable_wait"),
        "The parser cannot read the page, or does not try as too many of the host could not be "
        "read: its verdict is `unreadable`. The first ones of a host are dead letters."),
    Hazard.CHARSET_CONFLICT: Counting(("parser",), (),
        "Byte order mark, header, meta element and bytes name different encodings."),
    Hazard.MISREAD_TEXT: Counting(("parser",), ("parser.word_limit",),
        "A text has strings that are too long to be words: they are left out. The document may be "
        "of another type than it says."),
    Hazard.PHYSICAL_MARKUP: Counting(("parser",), ("parser.physical_markup",),
        "Headings are made of font sizes, bold type or centring: they are recorded with a weight."),
    Hazard.EXACT_DUPLICATE: Counting(("dedup",), (), "Another URL had the same text before."),
    Hazard.TRAP_DUPLICATES: Counting(("dedup",), ("dedup.duplicates_limit",),
        "One more duplicate or near duplicate in a row than is followed: its links are not."),
    Hazard.IRRELEVANT: Counting(("dedup",), ("crawl.relevant", "crawl.follow_irrelevant"),
        "A page is not among those that the crawl keeps: it is not published."),
    Hazard.CLASSIFIER_FAILED: Counting(("dedup",), ("crawl.relevant",),
        "A classifier raised an error or is not installed: its page is kept unless another rule "
        "decides."),
}
# fmt: on


check_complete(Hazard, HAZARDS, "HAZARDS")


def counted_by(service: str, hazards: Iterable[str]) -> list[str]:
    """Return those of *hazards* that *service* counts.

    A name that is in no table is nobody's: an event may be of another version of Gossamer.
    """
    return [
        name for name in hazards if name in HAZARDS and service in HAZARDS[Hazard(name)].services
    ]


def count_hazards(service: str, hazards: Iterable[str]) -> None:
    """Add to the metric what *service* is to count; raise ValueError for a name in no table."""
    for hazard in counted_by(service, map(Hazard, hazards)):
        count("gossamer_hazards_total", hazard=hazard)
