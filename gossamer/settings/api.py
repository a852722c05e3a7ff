"""Settings of the HTTP API and the web console: address, TLS, identities and limits."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from gossamer.settings.units import Networks, Port, Positive, Seconds, Section, unit

Role = Literal["view", "operate", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""What somebody may do. Each role includes the ones before it."""


class Grant(NamedTuple):
    """A role, and the crawls for which it is given."""

    role: Role
    crawls: frozenset[str] | None = None
    """Ids of crawls; None means all of them."""


def parse_grant(text: str) -> Grant:
    """Read `operate`, or `operate:shop,news` for two crawls. Raise ValueError for another text."""
    role, colon, crawls = text.partition(":")
    names = frozenset(name.strip() for name in crawls.split(",") if name.strip())
    if role not in ROLES or (colon and not names):
        raise ValueError(f"{text!r} is not a role: write {', '.join(ROLES)}, or operate:CRAWL")
    return Grant(role, names or None)


def _ip(text: str) -> str:
    ip_address(text)
    return text


def _group_roles(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        group, equals, grant = entry.rpartition("=")
        if not (group and equals):
            raise ValueError(f"{entry!r} is not an entry: write GROUP=operate")
        parse_grant(grant)
    return entries


class ApiSettings(Section):
    """The HTTP API and the web console, `gossamer console`."""

    address: Annotated[str, AfterValidator(_ip), unit("IP address")] = "127.0.0.1"
    """The address to listen on. Every other address than loopback needs `tokens_file` or
    `trusted_proxies`, and a certificate or `plain_http`."""
    port: Port = 8080
    """The port to listen on. `gossamer console --port` overrides it."""
    names: Annotated[tuple[str, ...], unit("list of host names")] = ()
    """Names under which browsers and programs reach the console, such as `crawler.example.org`.
    Requests for other names are refused. Loopback and `address` are always accepted."""
    tokens_file: Path | None = None
    """The file with tokens, which `gossamer token` writes. Without it, and without
    `trusted_proxies`, one token is generated at each start."""
    trusted_proxies: Networks = ()
    """Proxies that log users in, such as oauth2-proxy. The user's name and groups in headers are
    accepted from these networks alone."""
    user_header: Annotated[str, unit("header name")] = ""
    """The header in which a trusted proxy sends the name of the user, such as
    `X-Forwarded-Email`."""
    groups_header: Annotated[str, unit("header name")] = ""
    """The header in which a trusted proxy sends the groups of the user, separated by commas."""
    group_roles: Annotated[
        tuple[str, ...], AfterValidator(_group_roles), unit("list of `GROUP=ROLE`")
    ] = ()
    """Roles of groups: `sre=admin`, or `editors=operate:shop` for one crawl. The role is `view`,
    `operate` or `admin`. Users without such a group are refused."""
    cert_file: Path | None = None
    """The certificate of the server (PEM), with its chain. It needs `key_file`."""
    key_file: Path | None = None
    """The private key (PEM) of `cert_file`."""
    plain_http: bool = False
    """Whether other addresses than loopback are served without TLS, because a proxy adds it."""
    require_reason: bool = False
    """Whether each change in the console or the API needs a reason for the audit log."""
    reads: Annotated[float, Field(gt=0), unit("requests a second")] = 20.0
    """Maximum rate of requests that read, for each user or token. Bursts may be five times as
    large."""
    changes: Annotated[float, Field(gt=0), unit("requests a second")] = 2.0
    """Maximum rate of requests that change something, for each user or token. Bursts may be ten
    times as large."""
    scans: Annotated[Positive, unit("requests")] = 2
    """Maximum number of requests at once that read whole tables. Further ones get the status 503
    and are to be repeated."""
    timeout: Seconds = 30.0
    """Maximum duration of a request. After it the status is 503."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file belong together")
        for file in (self.cert_file, self.key_file):
            if file and not file.is_file():
                raise ValueError(f"{file} is not a file")
        self._check_proxies()
        if ip_address(self.address).is_loopback:
            return self
        if not (self.tokens_file or self.trusted_proxies):
            raise ValueError(f"address: {self.address} needs tokens_file or trusted_proxies")
        if not (self.cert_file or self.plain_http):
            raise ValueError(
                f"address: {self.address} needs cert_file and key_file, or plain_http behind a "
                "proxy that adds TLS"
            )
        return self

    def _check_proxies(self) -> None:
        if bool(self.trusted_proxies) != bool(self.user_header):
            raise ValueError("trusted_proxies and user_header belong together")
        if bool(self.groups_header) != bool(self.group_roles):
            raise ValueError("groups_header and group_roles belong together")
        if bool(self.trusted_proxies) != bool(self.group_roles):
            raise ValueError("trusted_proxies needs groups_header and group_roles")
        for network in self.trusted_proxies:
            if network.prefixlen == 0:
                raise ValueError(f"trusted_proxies: {network} would trust every client")

    def grant_of(self, groups: frozenset[str]) -> Grant | None:
        """Return the best role that *groups* have, and all crawls for which they have it."""
        granted = [
            parse_grant(grant)
            for group, _, grant in (entry.rpartition("=") for entry in self.group_roles)
            if group in groups
        ]
        if not granted:
            return None
        best = max((grant.role for grant in granted), key=ROLES.index)
        crawls = [grant.crawls for grant in granted if grant.role == best]
        if None in crawls:
            return Grant(best)
        return Grant(best, frozenset().union(*(one for one in crawls if one)))
