"""Texts and files that an operator publishes, so that sites recognise and understand the crawler.

- The page about the crawler, with a link to its addresses (`rel=client-ranges`). Best practices for
  crawlers: draft-illyes-webbotauth-cbcp.
- The addresses in JSON (draft-illyes-aipref-jafar), the form that Google and Bing publish, too.
- The directory of public keys, with the headers that its response must have. The headers contain
  signatures that expire, so they are written again before they do.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any
from urllib.parse import urlsplit

from gossamer.errors import BadSettings
from gossamer.settings import Settings
from gossamer.web.http import Headers
from gossamer.web.signatures import (
    DIRECTORY_PATH,
    SigningKey,
    authority_of,
    make_directory,
    sign_directory,
)
from gossamer.web.url import BadUrl, canonicalize

PAGE_FILE, RANGES_FILE = "index.html", "client-ranges.json"
DIRECTORY_FILE, HEADERS_FILE = DIRECTORY_PATH.lstrip("/"), "headers.json"
RANGES_REL = "client-ranges"
RANGES_TYPE = "application/jafar+json"
DEFAULT_PRODUCT = "gossamer"

Network = IPv4Network | IPv6Network

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;padding:0 1em;"
    "color:#222}h1{font-size:1.6em}h2{font-size:1.2em;margin-top:1.6em}"
    "pre{background:#f3f3f3;padding:.8em;overflow:auto}"
)


@dataclass(frozen=True)
class Published:
    """The files of an operator: path below the folder → content, and headers by path."""

    files: Mapping[str, bytes]
    headers: Mapping[str, Headers]


def make_published(
    settings: Settings,
    keys: Sequence[SigningKey],
    ranges: Sequence[Network],
    purposes: Sequence[str],
    now: float,
    validity: float,
) -> Published:
    """Return all files; *validity* is the seconds for which the directory's signatures hold.

    Raise BadSettings if the identity lacks a contact, or if keys have no origin.
    """
    fetcher = settings.fetcher
    if not fetcher.contact:
        raise BadSettings("fetcher.contact: the page about the crawler needs a contact (--contact)")
    files = {PAGE_FILE: make_page(settings, purposes, RANGES_FILE if ranges else "").encode()}
    headers: dict[str, Headers] = {PAGE_FILE: (("Content-Type", "text/html; charset=utf-8"),)}
    if ranges:
        files[RANGES_FILE] = make_ranges(ranges, now)
        headers[RANGES_FILE] = (("Content-Type", RANGES_TYPE),)
    if keys:
        if not fetcher.signature_agent:
            raise BadSettings("fetcher.signature_agent: the keys need the origin that has them")
        body, authority = make_directory(keys), authority_of(agent_url(settings))
        files[DIRECTORY_FILE] = body
        headers[DIRECTORY_FILE] = (
            *sign_directory(authority, body, keys, now, validity),
            ("Cache-Control", "max-age=86400"),
        )
    listed = {f"/{path}": dict(fields) for path, fields in headers.items()}
    files[HEADERS_FILE] = json.dumps(listed, indent=2).encode() + b"\n"
    return Published(files, headers)


def agent_url(settings: Settings) -> str:
    """Return the canonical URL of the key directory."""
    origin = settings.fetcher.signature_agent.removesuffix("/")
    try:
        return canonicalize(origin + DIRECTORY_PATH)
    except BadUrl as error:
        raise BadSettings(f"fetcher.signature_agent: {origin!r} is not a valid origin") from error


def parse_network(text: str) -> Network:
    """Return a network, or an address as one; raise BadSettings if it is neither."""
    try:
        return ip_network(text)
    except ValueError as error:
        raise BadSettings(f"--range {text}: not a network, such as 192.0.2.0/28") from error


def make_ranges(ranges: Iterable[Network], now: float) -> bytes:
    """Return the addresses as JSON (draft-illyes-aipref-jafar)."""
    prefixes = [{f"ipv{one.version}Prefix": str(one)} for one in ranges]
    found: dict[str, Any] = {
        "synctoken": sha256(json.dumps(prefixes).encode()).hexdigest()[:16],
        "creationTime": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "prefixes": prefixes,
    }
    return json.dumps(found, indent=2).encode() + b"\n"


def make_page(settings: Settings, purposes: Sequence[str], ranges_url: str) -> str:
    """Return the page about the crawler; every text from the settings is escaped."""
    fetcher = settings.fetcher
    name, contact = escape(fetcher.product), fetcher.contact
    link = contact if "://" in contact else f"mailto:{contact}"
    uses = "".join(f"<li>{escape(one)}</li>\n" for one in purposes)
    use = (
        f"<p>The pages are used for:</p>\n<ul>\n{uses}</ul>"
        if uses
        else "<p>The operator states no purposes. Please ask the contact below.</p>"
    )
    head = addresses = ""
    if ranges_url:
        target = escape(ranges_url)
        head = f'<link rel="{RANGES_REL}" href="{target}">\n'
        addresses = (
            f'<p>Its requests come from <a href="{target}">these addresses</a> only (JSON).</p>'
        )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: about this crawler</title>
{head}<style>{STYLE}</style>
</head>
<body>
<h1>{name}</h1>
<p>{name} is a web crawler. It runs the software Gossamer,
and its User-Agent begins with <code>{name}/</code>.</p>

<h2 id="use">How the pages are used</h2>
{use}
<p>Statements in robots.txt, headers and meta elements about the use of a page are read.</p>

<h2 id="blocking">How to block it</h2>
<p>The crawler obeys robots.txt (RFC 9309). This robots.txt blocks it from the whole site:</p>
<pre>User-agent: {name}
Disallow: /</pre>
<p>This one blocks a part, and asks for ten seconds between two requests:</p>
<pre>User-agent: {name}
Disallow: /private/
Crawl-delay: 10</pre>
<p>A changed robots.txt is read within {fetcher.robots_age / 3600:g} hours. <code>noindex</code> and
<code>nofollow</code> in <code>X-Robots-Tag</code> and in meta elements are obeyed, too. To verify a
robots.txt, compare it with <a
href="https://www.rfc-editor.org/rfc/rfc9309.html#name-examples">the examples of RFC 9309</a>.</p>

<h2 id="rendering">Rendering</h2>
<p>Pages are not rendered: no script is run, and no image or style is requested.</p>

<h2 id="load">Load</h2>
<p>The crawler makes one request at a time to a host, and waits between two requests. It slows down
if the server does, and obeys <code>Retry-After</code>. Pages are visited again with
<code>If-None-Match</code> and <code>If-Modified-Since</code>.</p>

<h2 id="recognising">How to recognise it</h2>
{addresses}
{_signatures(settings)}
<h2 id="contact">Contact</h2>
<p><a href="{escape(link)}">{escape(contact)}</a></p>
</body>
</html>
"""


def _signatures(settings: Settings) -> str:
    agent = settings.fetcher.signature_agent
    if not agent:
        return ""
    url = escape(agent_url(settings))
    return (
        "<p>Its requests can be signed (Web Bot Auth). The public keys are in the "
        f'<a href="{url}">key directory</a> of {escape(urlsplit(agent).netloc)}.</p>\n'
    )
