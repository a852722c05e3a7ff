"""The headers of requests: our identity, and headers, credentials and proxies of single hosts.

The identity is always true and names a contact (hazard `cloaking`).

Headers, credentials and proxies of hosts are in a TOML file, because they are secrets: they have no
default, and no log line, event or archived record contains them. The file has a table for each
host, named by scheme and authority, because credentials are valid for one scheme and authority (RFC
7617, 2.2). The table `"*"` is for all other hosts.

    ["https://intranet.example.org"]
    user = "crawler"
    password = "…"
    headers = { "X-Api-Key" = "…" }

    ["*"]
    proxy = "http://proxy.example.net:3128"

Only the operator names a proxy. Proxies in the environment or in a response (305) are ignored.
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

ALL_HOSTS = "*"
REDACTED = "redacted"
"""Replaces a secret in the archived request."""
PUBLIC_HEADERS = {"accept", "accept-language", "cache-control", "pragma", "dnt", "sec-gpc"}
"""Headers that are archived unchanged, and may be set for all hosts."""
SECRET_HEADERS = {"authorization", "proxy-authorization"}
RESERVED_HEADERS = {
    "host", "user-agent", "from", "cookie", "accept-encoding", "range", "te", "trailer",
    "connection", "content-length", "transfer-encoding", "upgrade", "expect", "proxy-authorization",
    "signature", "signature-input", "signature-agent",
}  # fmt: skip
"""Headers that the file may not set: they state our identity, or control the connection."""

_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_printable = re.compile(r"[\x20-\x7e]*")
_proxy = re.compile(
    r"(?:http|socks5)://(?:[^\s/@]*@)?(?:[\w.-]+|\[[\da-f:.]+\]):(\d{1,5})/?", re.ASCII
)


@dataclass(frozen=True)
class Access:
    """Headers and proxy for the requests to a host. Its repr shows none of them."""

    headers: Headers = field(default=(), repr=False)
    proxy: str = field(default="", repr=False)
    """`http://[USER:PASSWORD@]SERVER:PORT` or `socks5://…`; "" for a direct connection."""
    is_default: bool = False
    """Whether this is the access of all hosts without a table."""

    @property
    def socks(self) -> str:
        """The proxy if it is a SOCKS proxy, else ""."""
        return self.proxy if self.proxy.startswith("socks5:") else ""

    @property
    def proxy_server(self) -> str:
        """Server and port of the proxy, without credentials, for messages."""
        return self.proxy.rpartition("/")[2].rpartition("@")[2]


DEFAULT_ACCESS = Access()
AccessTable = Mapping[str, Access]
"""Host key or ALL_HOSTS → access."""


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    user: str = ""
    password: str = ""
    headers: dict[str, str] = {}
    proxy: str = ""


def parse_access_file(text: str) -> AccessTable:
    """Parse the access file; raise BadSettings, whose text contains no secret, if it is invalid."""
    try:
        tables = msgspec.convert(tomllib.loads(text), dict[str, _Table])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _access_error(str(error)) from None
    return {host: _access(host, table) for host, table in tables.items()}


def access_for(url: str, accesses: AccessTable) -> Access:
    """Return the access for the host of a canonical *url*."""
    return accesses.get(host_key(url)) or accesses.get(ALL_HOSTS, DEFAULT_ACCESS)


def redact(headers: Headers, access: Access) -> Headers:
    """Return *headers* of a request for the archive, with secrets redacted."""
    secrets = SECRET_HEADERS | {name.lower() for name, _ in access.headers} - PUBLIC_HEADERS
    return tuple((name, REDACTED if name.lower() in secrets else value) for name, value in headers)


def _access(host: str, table: _Table) -> Access:
    is_default = host == ALL_HOSTS
    if not is_default and not _is_host(host):
        raise _access_error(
            f"{host!r} is neither a host, such as https://www.example.org, nor {ALL_HOSTS!r}"
        )
    headers = tuple(table.headers.items())
    if table.user or table.password:
        headers = (*headers, ("Authorization", _basic(host, table)))
    for name, value in headers:
        is_valid = _name.fullmatch(name) and _printable.fullmatch(value)
        if not is_valid or name.lower() in RESERVED_HEADERS:
            raise _access_error(f"{host}: the header {name!r} cannot be set")
        if is_default and name.lower() not in PUBLIC_HEADERS:
            raise _access_error(f"{host}: {name} may be a secret, and cannot be set for all hosts")
    if len({name.lower() for name, _ in headers}) < len(headers):
        raise _access_error(f"{host}: a header is set twice")
    if table.proxy and not _is_proxy(table.proxy):
        raise _access_error(f"{host}: the proxy must be http://SERVER:PORT or socks5://SERVER:PORT")
    return Access(headers, table.proxy.removesuffix("/"), is_default)


def _basic(host: str, table: _Table) -> str:
    if ":" in table.user:
        raise _access_error(f"{host}: the user name must not contain a colon")
    # Most servers expect UTF-8 (RFC 7617, 2.1).
    return "Basic " + b64encode(f"{table.user}:{table.password}".encode()).decode()


def _is_host(host: str) -> bool:
    try:
        return canonicalize(f"{host}/") == f"{host}/" and host.count("/") == 2
    except BadUrl:
        return False


def _is_proxy(text: str) -> bool:
    found = _proxy.fullmatch(text)
    return found is not None and 0 < int(found[1]) < 65536


def _access_error(reason: str) -> BadSettings:
    return BadSettings(f"fetcher.access_file: {reason}")


CODINGS = tuple(coding for coding in INFLATERS if not coding.startswith("x-"))
"""The content codings that `gossamer.web.coding` decodes."""
ARCHIVE_CODINGS = ("gzip",)
"""The content codings that all readers of WARC files decode. ReplayWeb.page decodes no deflate."""

_mailbox = re.compile(r"[\w.+=-]+@[A-Za-z0-9][A-Za-z0-9.-]*", re.ASCII)
_page = re.compile(r"https?://[\x21-\x27\x2a-\x3a\x3c-\x7e]+")


def check_contact(contact: str) -> None:
    """Raise BadSettings unless *contact* is an e-mail address or the URL of a page."""
    if _mailbox.fullmatch(contact) or _page.fullmatch(contact):
        return
    raise BadSettings(
        f"fetcher.contact: {contact!r} is neither an e-mail address nor an http(s) URL; name one "
        "where a webmaster reaches you (--contact, GOSSAMER_FETCHER__CONTACT or the settings "
        "file): without a contact nothing is fetched"
    )


def accept_header(types: tuple[str, ...]) -> str:
    """Return the Accept header for *types*. HTML is preferred, because it has links."""
    # RFC 9110, 12.5.1, allows no pattern but `type/*`.
    ranges = [kind for kind in types if "*" not in kind.removesuffix("/*")]
    weighted = [kind if kind in HTML else f"{kind};q=0.8" for kind in ranges]
    return ", ".join([*weighted, "*/*;q=0.1"])


def accept_encoding(codings: tuple[str, ...]) -> str:
    """Return the Accept-Encoding header for *codings*."""
    # Without the header, a server may choose any coding (RFC 9110, 12.5.3).
    return ", ".join(codings) or "identity"


def archive_headers(settings: FetcherSettings) -> Headers:
    """Return the headers of a request for an archive that replace those of every request."""
    if settings.accept_encoding is not None:
        return ()
    return (("Accept-Encoding", accept_encoding(ARCHIVE_CODINGS)),)


def request_headers(settings: FetcherSettings) -> Headers:
    """Return the headers of every request; raise BadSettings if our identity is not valid."""
    check_contact(settings.contact)
    for name, value in (("product", settings.product), ("page", settings.page)):
        if not (is_token(value) if name == "product" else _page.fullmatch(value) or not value):
            raise BadSettings(f"fetcher.{name}: {value!r} is not valid in a User-Agent")
    about = [text for text in (settings.page, settings.contact) if text]
    comment = "; ".join(f"+{text}" if _page.fullmatch(text) else text for text in about)
    agent = (("User-Agent", f"{settings.product}/{version('gossamer')} ({comment})"),)
    # RFC 9110, 10.1.2: From is a mailbox.
    sender = (("From", settings.contact),) if _mailbox.fullmatch(settings.contact) else ()
    codings = CODINGS if settings.accept_encoding is None else settings.accept_encoding
    return (
        *agent,
        *sender,
        ("Accept", accept_header(settings.types)),
        ("Accept-Encoding", accept_encoding(codings)),
    )
