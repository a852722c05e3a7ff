"""How single hosts are asked: who we are to them, which headers they want, through which proxy.

A file says so, for what it holds are secrets: they have no default, and are in no log line, event
or archived record. It is a TOML file with a table for each host, by scheme and authority, because
that is what a password is for (RFC 7617, 2.2); `"*"` is for all hosts without a table of their own.

    ["https://intranet.example.org"]
    user = "crawler"
    password = "…"
    headers = { "X-Api-Key" = "…" }

    ["*"]
    proxy = "http://proxy.example.net:3128"

Nobody but the operator names a proxy: what the environment or a server says (305) counts nothing.

Who we say we are: always the truth, with a way to reach us (hazard `cloaking`).
"""

import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

import msgspec

from gossamer.errors import BadSettings
from gossamer.settings import FetcherSettings
from gossamer.web.coding import INFLATERS
from gossamer.web.http import Headers
from gossamer.web.robots import is_token
from gossamer.web.sniffing import HTML
from gossamer.web.url import BadUrl, canonicalize, host_key

EVERYBODY = "*"
REDACTED = "redacted"
"""Stands for a secret in the request as it is archived."""
HARMLESS = {"accept", "accept-language", "cache-control", "pragma", "dnt", "sec-gpc"}
"""Headers of the file whose values are archived as they are, and may go to everybody."""
SECRET = {"authorization", "proxy-authorization"}
OURS = {"host", "user-agent", "from", "cookie", "accept-encoding", "range", "te", "trailer"} | {
    "connection", "content-length", "transfer-encoding", "upgrade", "expect", "proxy-authorization",
}  # fmt: skip
"""Headers that the file may not set: they say who we are, or how the connection is used."""

_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_printable = re.compile(r"[\x20-\x7e]*")
_proxy = re.compile(
    r"(?:http|socks5)://(?:[^\s/@]*@)?(?:[\w.-]+|\[[\da-f:.]+\]):(\d{1,5})/?", re.ASCII
)


@dataclass(frozen=True)
class Access:
    """How a host is asked; no part of it is shown."""

    headers: Headers = field(default=(), repr=False)
    proxy: str = field(default="", repr=False)
    """`http://[USER:PASSWORD@]SERVER:PORT`, or the same with `socks5:`, or none."""
    common: bool = False
    """Whether it is that of all hosts without one of their own."""

    @property
    def socks(self) -> str:
        """The proxy, if it speaks SOCKS."""
        return self.proxy if self.proxy.startswith("socks5:") else ""

    @property
    def proxy_server(self) -> str:
        """The proxy without its credentials, for people."""
        return self.proxy.rpartition("/")[2].rpartition("@")[2]


OPEN = Access()
"""That of a host which nobody has said anything of."""
Accesses = Mapping[str, Access]
"""By host key, or EVERYBODY."""


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    user: str = ""
    password: str = ""
    headers: dict[str, str] = {}
    proxy: str = ""


def parse_accesses(text: str) -> Accesses:
    """Return what the file says; raise BadSettings, which tells no secret, if it makes no sense."""
    try:
        tables = msgspec.convert(tomllib.loads(text), dict[str, _Table])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _bad(str(error)) from None
    return {host: _access(host, table) for host, table in tables.items()}


def access_for(url: str, accesses: Accesses) -> Access:
    """Return how the host of a canonical *url* is asked."""
    return accesses.get(host_key(url)) or accesses.get(EVERYBODY, OPEN)


def shown(headers: Headers, access: Access) -> Headers:
    """Return *headers* of a request as they may be archived: without what the file says."""
    given = {name.lower() for name, _ in access.headers} - HARMLESS
    return tuple(
        (name, REDACTED if name.lower() in SECRET | given else value) for name, value in headers
    )


def _access(host: str, table: _Table) -> Access:
    common = host == EVERYBODY
    if not common and not _is_host(host):
        raise _bad(f"{host!r} is no host, such as https://www.example.org, nor {EVERYBODY!r}")
    headers = tuple(table.headers.items())
    if table.user or table.password:
        headers = (*headers, ("Authorization", _basic(host, table)))
    for name, value in headers:
        sound = _name.fullmatch(name) and _printable.fullmatch(value)
        if not sound or name.lower() in OURS:
            raise _bad(f"{host}: the header {name!r} cannot be set")
        if common and name.lower() not in HARMLESS:
            raise _bad(f"{host}: {name} may be a secret, and is not for everybody")
    if len({name.lower() for name, _ in headers}) < len(headers):
        raise _bad(f"{host}: a header is set twice")
    if table.proxy and not _is_proxy(table.proxy):
        raise _bad(f"{host}: a proxy is written http://SERVER:PORT, or socks5://SERVER:PORT")
    return Access(headers, table.proxy.removesuffix("/"), common)


def _basic(host: str, table: _Table) -> str:
    if ":" in table.user:
        raise _bad(f"{host}: a user's name has no colon")
    # RFC 7617, 2.1: what most servers expect.
    return "Basic " + b64encode(f"{table.user}:{table.password}".encode()).decode()


def _is_host(host: str) -> bool:
    try:
        return canonicalize(f"{host}/") == f"{host}/" and host.count("/") == 2
    except BadUrl:
        return False


def _is_proxy(text: str) -> bool:
    found = _proxy.fullmatch(text)
    return found is not None and 0 < int(found[1]) < 65536


def _bad(why: str) -> BadSettings:
    return BadSettings(f"fetcher.access_file: {why}")


CODINGS = ", ".join(coding for coding in INFLATERS if not coding.startswith("x-"))
"""Those that can be undone."""

_mailbox = re.compile(r"[\w.+=-]+@[A-Za-z0-9][A-Za-z0-9.-]*", re.ASCII)
_page = re.compile(r"https?://[\x21-\x27\x2a-\x3a\x3c-\x7e]+")


def check_contact(contact: str) -> None:
    """Raise BadSettings unless *contact* is an e-mail address or the URL of a page."""
    if _mailbox.fullmatch(contact) or _page.fullmatch(contact):
        return
    raise BadSettings(
        f"fetcher.contact: {contact!r} is neither an e-mail address nor a http(s) page; name one "
        "where a webmaster reaches you (--contact, GOSSAMER_FETCHER__CONTACT or the settings "
        "file): without one nothing is fetched"
    )


def accept(types: tuple[str, ...]) -> str:
    """Return the Accept header that says which *types* are wanted: HTML most of all, for links."""
    # RFC 9110, 12.5.1, knows no other pattern than a whole type of subtypes.
    ranges = [one for one in types if "*" not in one.removesuffix("/*")]
    wanted = [one if one in HTML else f"{one};q=0.8" for one in ranges]
    return ", ".join([*wanted, "*/*;q=0.1"])


def request_headers(settings: FetcherSettings) -> Headers:
    """Return the headers of every request; raise BadSettings if they would not say who we are."""
    check_contact(settings.contact)
    for name, value in (("product", settings.product), ("page", settings.page)):
        if not (is_token(value) if name == "product" else _page.fullmatch(value) or not value):
            raise BadSettings(f"fetcher.{name}: {value!r} cannot stand in a User-Agent")
    about = [text for text in (settings.page, settings.contact) if text]
    comment = "; ".join(f"+{text}" if _page.fullmatch(text) else text for text in about)
    named = (("User-Agent", f"{settings.product}/{version('gossamer')} ({comment})"),)
    # RFC 9110, 10.1.2: From is a mailbox.
    reached = (("From", settings.contact),) if _mailbox.fullmatch(settings.contact) else ()
    return (*named, *reached, ("Accept", accept(settings.types)), ("Accept-Encoding", CODINGS))
