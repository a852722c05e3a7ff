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
"""

import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from gossamer.errors import BadSettings
from gossamer.web.http import Headers
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
