"""The hazards of the Web that are counted, the services that count them, and their settings.

`HAZARDS` is the only place that states this. A hazard is counted once, although its name travels
on: the hazards of a truncated page are in its `VisitEnded`, in the page's events and in the
archive. Metric and report use the table: a service adds to the metric only the hazards that it
counts itself, and the frontier adds to the report only the hazards that the event's sender counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gossamer.events.outcomes import check_complete
from gossamer.telemetry import count

UNTRUSTED_CERTIFICATE = "the certificate is not trusted"
"""Begins the reason of a visit whose certificate has a fault."""


class Hazard(StrEnum):
    """The names of hazards in the metric, the report and the archive."""

    DNS_FAILURE = "dns_failure"
    DNS_OUTAGE = "dns_outage"
    DNS_MALFORMED = "dns_malformed"
    DNS_WILDCARD = "dns_wildcard"
    DNS_WILDCARD_SUFFIX = "dns_wildcard_suffix"
    HOST_DOWN = "host_down"
    TLS_FAILURE = "tls_failure"
    INVALID_CERTIFICATE = "invalid_certificate"
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
    CONDITIONS_REFUSED = "conditions_refused"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    UNWANTED_TYPE = "unwanted_type"
    CHALLENGED = "challenged"
    PAYMENT_REQUIRED = "payment_required"
    LICENSE_REQUIRED = "license_required"
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
    TRAP_BYTES = "trap_bytes"
    TRAP_SECONDS = "trap_seconds"
    TRAP_SITE_DEPTH = "trap_site_depth"
    TRAP_SITEMAPS = "trap_sitemaps"
    TRAP_REQUISITES = "trap_requisites"
    LOW_WORTH = "low_worth"
    TRAP_DEPTH = "trap_depth"
    OUT_OF_SCOPE = "out_of_scope"
    BLACKLISTED = "blacklisted"
    ROBOTS_MALFORMED = "robots_malformed"
    ROBOTS_EXCLUDED = "robots_excluded"
    USAGE_EXCLUDED = "usage_excluded"
    MALFORMED_HTML = "malformed_html"
    MALFORMED_LISTING = "malformed_listing"
    NESTED_INDEX = "nested_index"
    PARSER_FAULT = "parser_fault"
    READER_FAILED = "reader_failed"
    EXPIRED_LEASES = "expired_leases"
    CHARSET_CONFLICT = "charset_conflict"
    MISREAD_TEXT = "misread_text"
    HIDDEN_TEXT = "hidden_text"
    PHYSICAL_MARKUP = "physical_markup"
    NEEDS_RENDERING = "needs_rendering"
    EXACT_DUPLICATE = "exact_duplicate"
    TRAP_DUPLICATES = "trap_duplicates"
    IRRELEVANT = "irrelevant"
    NOT_FOLLOWED = "not_followed"
    RULE_FAILED = "rule_failed"


@dataclass(frozen=True)
class Counting:
    """The meaning of a hazard, and the services that count it."""

    services: tuple[str, ...]
    """The services that count the hazard. Several count it only if they see it at different
    URLs."""
    settings: tuple[str, ...]
    """Dotted names of the settings that define the hazard or limit its effects."""
    text: str
    """The condition, as a sentence."""


# fmt: off
HAZARDS: dict[Hazard, Counting] = {
    Hazard.DNS_FAILURE: Counting(("fetcher",), ("frontier.dns_wait",),
        "The host's name does not exist or has no address."),
    Hazard.DNS_OUTAGE: Counting(("fetcher",), ("fetcher.outage_share",),
        "Most names of all sites fail to resolve, including names that resolved before. New "
        "visits wait, and no host is marked as failing. Counted once for each outage."),
    Hazard.DNS_MALFORMED: Counting(("fetcher",), (),
        "A name server's response is malformed. Its valid part is used."),
    Hazard.DNS_WILDCARD: Counting(("fetcher",), (),
        "A random name in the host's domain resolves, because of a wildcard record. Counted "
        "once for each domain and fetcher."),
    Hazard.DNS_WILDCARD_SUFFIX: Counting(("fetcher",), ("frontier.worth_parking",),
        "A random name directly below the site's public suffix resolves, because of a wildcard "
        "record. Counted for each visit to a site below it."),
    Hazard.HOST_DOWN: Counting(
        ("fetcher",), ("fetcher.connect_limit", "frontier.down_wait", "frontier.retries"),
        "No connection was possible: refused, unreachable or timed out."),
    Hazard.TLS_FAILURE: Counting(
        ("fetcher",), (
            "fetcher.certificates", "fetcher.connect_limit", "frontier.down_wait",
            "frontier.retries",
        ),
        "The certificate is not trusted, or TLS fails for another reason."),
    Hazard.INVALID_CERTIFICATE: Counting(("fetcher",), ("fetcher.certificates",),
        "The certificate is not trusted, and the response was fetched in spite of that, without "
        "cookies and credentials."),
    Hazard.SILENT_SERVER: Counting(("fetcher",), ("fetcher.first_byte_limit", "frontier.retries"),
        "The request was sent, and no byte came back before the timeout."),
    Hazard.SLOW_TRANSFER: Counting(
        ("fetcher",),
        ("fetcher.between_bytes_limit", "fetcher.slow_rate", "fetcher.slow_window"),
        "The body stalled or was too slow, and was cut."),
    Hazard.CUT_SHORT: Counting(("fetcher",), (),
        "The connection was closed before the end of the body."),
    Hazard.INFINITE_BODY: Counting(
        ("fetcher",), ("fetcher.body_limit", "fetcher.pdf_limit", "fetcher.sitemap_limit"),
        "The body exceeds the size limit of its type, and was cut."),
    Hazard.TRAP_TIME: Counting(("fetcher",), ("fetcher.visit_limit",),
        "The visit exceeded its maximum time, and the body was cut."),
    Hazard.DECOMPRESSION_BOMB: Counting(
        ("parser",), (
            "parser.decoded_limit", "parser.pdf_limit", "parser.sitemap_limit",
            "parser.ratio_limit",
        ),
        "A small encoded body decompresses to an absurd size."),
    Hazard.PRIVATE_ADDRESS: Counting(("fetcher",), ("fetcher.allow_networks",),
        "All addresses of the host are outside the public Internet."),
    Hazard.REDIRECT: Counting(("fetcher",), ("frontier.hops_limit",),
        "The response is a redirect with a usable target."),
    Hazard.BAD_REDIRECT: Counting(("fetcher",), (),
        "The response is a redirect without a usable target."),
    Hazard.MISSING_HEADERS: Counting(("fetcher",), ("fetcher.head_limit",),
        "The response is not HTTP: it has no status line, no headers, or headers without an end."),
    Hazard.RANGE_ERROR: Counting(("fetcher",), ("fetcher.ranges",),
        "The server answered 416 to a Range request. The document was requested once more "
        "without Range."),
    Hazard.CONDITIONS_REFUSED: Counting(("fetcher",), (),
        "The server answered a conditional request with 400 or 412, or a request with a 304 that "
        "has no reason. The document was requested once more without conditions, and the host "
        "gets none for 30 days."),
    Hazard.WRONG_CONTENT_TYPE: Counting(("fetcher", "parser"), (),
        "The body's type differs from its Content-Type. The fetcher counts it if it does not "
        "fetch the body for this reason."),
    Hazard.UNWANTED_TYPE: Counting(("fetcher",), ("fetcher.types",),
        "The response has an unsupported type."),
    Hazard.CHALLENGED: Counting(
        ("fetcher",), ("frontier.retries", "frontier.down_wait", "archive.walls"),
        "The response is a challenge (`gossamer.web.walls`), which a browser or a person would "
        "have to solve."),
    Hazard.PAYMENT_REQUIRED: Counting(("fetcher",), ("archive.walls",),
        "The response demands a payment."),
    Hazard.LICENSE_REQUIRED: Counting(("fetcher",), ("archive.walls",),
        "The response demands a license token."),
    Hazard.SOFT_404: Counting(("parser", "dedup"), ("frontier.probe_after",),
        "A page or a redirect target is the host's response for missing pages. The page is not "
        "published, and its links are not followed."),
    Hazard.WRONG_DATE: Counting(("parser", "dedup"), (),
        "Last-Modified is before 1993 or in the future. It is ignored, or counts as a change "
        "now if it is up to a day ahead. Or the visit has such a date: a clock was ahead, or an "
        "imported capture has it. The visit counts as made now, when the imported file was "
        "written, or in 1993."),
    Hazard.RETRY_AFTER: Counting(("fetcher",), ("frontier.retry_after_limit",),
        "The server sent Retry-After."),
    Hazard.MALFORMED_URL: Counting(("parser",), (),
        "A page has links with invalid URLs. Counted once for each page."),
    Hazard.NON_WEB_LINK: Counting(("parser",), (),
        "A page has links such as mailto:, tel: and javascript:. Counted once for each page."),
    Hazard.URL_TOO_LONG: Counting(("parser", "dedup"), ("dedup.url_limit",),
        "A page has links that exceed the maximum length. Counted once for each page, by the "
        "parser for links of more than 2,000 characters."),
    Hazard.SESSION_ID: Counting(("dedup", "frontier"), ("crawl.url_steps",),
        "A page has links with a session identifier, which is removed. Counted once for each "
        "page, and for each queued URL whose session identifier is found to make no difference."),
    Hazard.DIRECTORY_REORDER: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links that only sort a directory listing differently. They are rewritten to "
        "the directory. Counted once for each page."),
    Hazard.DEFAULT_DOCUMENT: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links such as index.html, which are rewritten to the directory. Counted "
        "once for each page."),
    Hazard.REPEATED_PATH: Counting(("dedup",), ("crawl.url_steps",),
        "A page has links whose path repeats itself. They are not followed. Counted once for "
        "each page."),
    Hazard.WWW_ALIAS: Counting(("dedup",), ("dedup.www_alias", "dedup.duphost_age"),
        "Two hosts whose names differ only in `www.` are the same. Links to this host are "
        "rewritten to the other one. Counted when it is proven."),
    Hazard.DUPHOST: Counting(
        ("dedup",), ("dedup.duphost", "dedup.duphost_age", "dedup.duphosts"),
        "A host serves the pages of another host. Links to it are rewritten to the other host, "
        "and its queued URLs are visited there. Counted when it is proven."),
    Hazard.TOO_MANY_LINKS: Counting(
        ("parser",), ("parser.links_limit", "parser.links_bytes", "parser.entries_limit"),
        "A page exceeds the limits on the number or size of links, or a sitemap that of "
        "entries. The rest is dropped."),
    Hazard.NOINDEX: Counting(("parser",), ("parser.not_indexed",),
        "A page asks not to be indexed, and is not published."),
    Hazard.NOFOLLOW: Counting(("parser",), ("parser.not_followed",),
        "A page asks that all or some of its links are not followed. Counted once for each page."),
    Hazard.SCRIPT_LINKS: Counting(("parser",), ("parser.script_links",),
        "A page has text that looks like URLs of its site in scripts or event handlers. These "
        "guesses are visited last. A host whose guesses do not exist soon gets no more such "
        "visits. Counted once for each page."),
    Hazard.LOW_WORTH: Counting(("frontier",), ("frontier.worth_parking",),
        "The last visits to a part of the site brought hardly a new word, and most of them added "
        "URLs to the part, or pages without a text of their own lead there. A further URL of the "
        "part is parked. An occasional probe shows whether the part has recovered."),
    Hazard.TRAP_HOSTS: Counting(
        ("frontier",), ("frontier.host_budget", "frontier.budget_growth"),
        "The site has used up its budget of hosts. The URL of another host, which is not a seed, "
        "is parked until the budget grows."),
    Hazard.TRAP_URLS: Counting(
        ("frontier",), ("frontier.url_budget", "frontier.budget_growth"),
        "The site has used up its budget of URLs. A further URL is parked until it grows."),
    Hazard.TRAP_BYTES: Counting(
        ("frontier",), ("frontier.byte_budget", "frontier.budget_growth"),
        "The site has used up its budget of bytes. A further URL is parked until it grows."),
    Hazard.TRAP_SECONDS: Counting(
        ("frontier",), ("frontier.second_budget", "frontier.budget_growth"),
        "The visits to the site have used up its budget of time. A further URL is parked until it "
        "grows."),
    Hazard.TRAP_SITE_DEPTH: Counting(("frontier",), ("frontier.depth_budget",),
        "The URL is much deeper than all pages of its site with a new text. It is parked."),
    Hazard.TRAP_SITEMAPS: Counting(
        ("frontier",), ("frontier.sitemap_budget", "frontier.budget_growth"),
        "The site has used up its budget of sitemaps. A further one is parked until it grows."),
    Hazard.TRAP_REQUISITES: Counting(("frontier",), ("frontier.requisite_budget",),
        "The site has used up its budget of requisites of the day. A further one is dropped."),
    Hazard.TRAP_DEPTH: Counting(("frontier",), ("crawl.max_depth",),
        "An admitted URL is deeper than the crawl's current maximum depth."),
    Hazard.OUT_OF_SCOPE: Counting(("frontier",), ("crawl.scope",),
        "An admitted URL is outside the crawl's current scope."),
    Hazard.BLACKLISTED: Counting(("dedup", "frontier", "fetcher"), (),
        "The blocklist (`gossamer block`) contains a URL or the network of its host, at "
        "admission or when its visit is due. Counted once for each page for parked links."),
    Hazard.ROBOTS_MALFORMED: Counting(("fetcher",), ("fetcher.robots_limit",),
        "A robots.txt has lines that violate RFC 9309, which are interpreted leniently, or more "
        "than 100 sitemaps. The rest of them is dropped."),
    Hazard.ROBOTS_EXCLUDED: Counting(
        ("frontier", "fetcher"), ("fetcher.product", "fetcher.robots_age"),
        "robots.txt forbids a URL, at admission or just before the request."),
    Hazard.USAGE_EXCLUDED: Counting(
        ("fetcher", "dedup"),
        ("crawl.purposes", "crawl.usage_disallowed", "crawl.usage_unknown"),
        "The site does not allow a use that the crawl is for. The page is not requested, or not "
        "published and not archived if only its response states this."),
    Hazard.MALFORMED_HTML: Counting(("parser",), (),
        "Elements or attributes would take an HTML parser quadratic time. The rest is cut."),
    Hazard.MALFORMED_LISTING: Counting(("parser",), (),
        "A sitemap, a feed or JSON is not well-formed: it has a bare ampersand, a name of HTML, an "
        "impossible character, something before its first element, a comma behind the last item, "
        "or no end. It is repaired, XML as browsers repair HTML, and an entry without its end is "
        "skipped."),
    Hazard.NESTED_INDEX: Counting(("dedup",), (),
        "A sitemap index lists another index, which sitemaps.org does not allow. The inner one is "
        "not read."),
    Hazard.PARSER_FAULT: Counting(
        ("parser",),
        ("parser.page_limit", "parser.memory_limit", "parser.dead_letters_limit",
         "frontier.unreadable_limit", "frontier.unreadable_wait"),
        "The parser cannot read the page, or skips it after too many unreadable pages of the "
        "host. The verdict is `unreadable`. The first such pages of a host become dead letters, "
        "except bodies with an unknown or wrong Content-Encoding, which the archive has."),
    Hazard.READER_FAILED: Counting(("parser",), (),
        "A reader of Gossamer failed on the page: with an exception, or by the end of its process. "
        "The page is read without the part that failed: its metadata, its headings, its main text, "
        "or the text of a PDF. Without such a part it is unreadable, and does not count to the "
        "backoff of the host."),
    Hazard.EXPIRED_LEASES: Counting(
        ("frontier",), ("frontier.expired_wait", "frontier.lease_slack"),
        "At least two leases of the host expired in a row, although fetchers answered others. "
        "Visits to the host seem to stop the fetchers, so the host backs off. Counted for each "
        "backoff."),
    Hazard.CHARSET_CONFLICT: Counting(("parser",), (),
        "Byte order mark, header, meta element and bytes indicate different encodings."),
    Hazard.MISREAD_TEXT: Counting(("parser",), ("parser.word_limit",),
        "A text has strings that are too long to be words. They are dropped. The document may "
        "have another type than it declares."),
    Hazard.HIDDEN_TEXT: Counting(("parser",), (),
        "A page has at least five words that readers hardly see: off the screen, of size 0, "
        "transparent, in the color of their background, or hidden from screen readers. They are "
        "part of its text. Text that browsers do not display is not."),
    Hazard.PHYSICAL_MARKUP: Counting(("parser",), ("parser.physical_markup",),
        "Headings are marked only by font sizes, bold type or centring. They are recorded with "
        "a weight."),
    Hazard.NEEDS_RENDERING: Counting(("parser",), (),
        "Scripts seem to make the text of a page, so that little or none of it is read. It needs "
        "a browser."),
    Hazard.EXACT_DUPLICATE: Counting(("dedup",), (),
        "Another URL had the same text first."),
    Hazard.TRAP_DUPLICATES: Counting(("dedup",), ("dedup.duplicates_limit",),
        "The number of consecutive duplicates or near duplicates exceeds the limit. The page's "
        "links are not followed."),
    Hazard.IRRELEVANT: Counting(("dedup",), ("crawl.relevant", "crawl.follow_irrelevant"),
        "A page is not relevant to the crawl, and is not published."),
    Hazard.NOT_FOLLOWED: Counting(("frontier",), ("crawl.rules",),
        "The rule `follow` of the crawl refuses a link. It is parked until the rules change."),
    Hazard.RULE_FAILED: Counting(("parser",), ("crawl.rules", "parser.rules_limit"),
        "A function of the crawl's own rules raised an error, took too long, or returned nonsense. "
        "The page is treated as if the rules did not have it."),
}
# fmt: on


check_complete(Hazard, HAZARDS, "HAZARDS")

LIMIT_PREFIXES = "trap_", "low_"
"""The beginnings of names of hazards that mean that a limit was reached."""
OTHER_LIMITS = frozenset(
    {
        Hazard.SILENT_SERVER,
        Hazard.SLOW_TRANSFER,
        Hazard.INFINITE_BODY,
        Hazard.DECOMPRESSION_BOMB,
        Hazard.URL_TOO_LONG,
        Hazard.TOO_MANY_LINKS,
    }
)
"""Other hazards that mean that a limit was reached."""


def is_limit(hazard: Hazard) -> bool:
    """Return whether *hazard* means that a limit was reached, which its settings may raise or
    lower."""
    is_named = hazard in OTHER_LIMITS or hazard.startswith(LIMIT_PREFIXES)
    return is_named and bool(HAZARDS[hazard].settings)


def hazards_of(service: str, hazards: Iterable[str]) -> list[str]:
    """Return the *hazards* that *service* counts.

    Unknown names are ignored: another version of Gossamer may have written the event.
    """
    return [
        name for name in hazards if name in HAZARDS and service in HAZARDS[Hazard(name)].services
    ]


def count_hazards(service: str, hazards: Iterable[str]) -> None:
    """Add the *hazards* that *service* counts to the metric; raise ValueError for an unknown
    name."""
    for hazard in hazards_of(service, map(Hazard, hazards)):
        count("gossamer_hazards_total", hazard=hazard)
