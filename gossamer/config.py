"""Settings: from the environment (`GOSSAMER_FRONTIER__DELAY=2`), a TOML file, the command line.

The command line wins over the environment, the environment over the file. An unknown name and a
value that makes no sense are errors, told by name, before anything starts. Durations are seconds,
sizes are bytes. What a fleet needs besides is in `gossamer.servers`.
"""

import os
import tomllib
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, PositiveFloat, PositiveInt, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from gossamer.errors import BadSettings
from gossamer.scope import parse_scope
from gossamer.servers import CassandraSettings, KafkaSettings, Section, ServiceSettings
from gossamer.topics import LIMIT

NotNegative = Annotated[float, Field(ge=0)]
Natural = Annotated[int, Field(ge=0)]
BodySize = Annotated[int, Field(gt=0, le=(LIMIT - (1 << 20)) // 4 * 3)]
"""Fits an event: in base64, with a mebibyte of headers beside it."""
PREFIX = "GOSSAMER_"
CONFIG = "GOSSAMER_CONFIG"
NO_SETTINGS = {CONFIG, "GOSSAMER_PYTHON", "GOSSAMER_SERVERS", "GOSSAMER_VENV"}
"""Names that are read before there are settings: by the shell scripts, or for the file's name."""


class CrawlSettings(Section):
    """What the crawl is."""

    scope: str = ""
    """An expression of `gossamer.scope`; empty: the sites of the seeds."""
    max_depth: Natural = 16
    """Links from a seed (hazard trap_depth)."""

    def model_post_init(self, context: Any) -> None:
        """Refuse a scope that does not parse."""
        if self.scope:
            parse_scope(self.scope)


class FrontierSettings(Section):
    """How polite the crawl is, and how much it takes of a host."""

    delay: NotNegative = 1.0
    """The least courtesy delay between visits to a host."""
    delay_factor: NotNegative = 0.0
    """The courtesy delay is at least this many times the last visit's time; 0 = not used."""
    batch: PositiveInt = 10
    """Most URLs in one order."""
    lease_slack: PositiveFloat = 300.0
    """How much longer than its visits can take an order may go unanswered."""
    checked_out_limit: PositiveInt = 512
    """Most hosts checked out at once."""
    loaded_limit: PositiveInt = 50_000
    """Most hosts kept in memory; the others wait in the store."""
    url_budget: PositiveInt = 5000
    """Most URLs admitted to a host (hazard trap_urls)."""
    hops_limit: Natural = 5
    """Most redirects in a row."""
    down_wait: PositiveFloat = 43200.0
    """How long a host that is down is left alone at first; twice as long each time after."""
    down_wait_limit: PositiveFloat = 604800.0
    dns_wait: PositiveFloat = 604800.0
    retries: Natural = 3
    """How often a URL is tried again after its host or its server failed."""
    retry_after_limit: PositiveFloat = 86400.0
    robots_unreachable_limit: PositiveFloat = 2592000.0


class FetcherSettings(Section):
    """How the fetcher behaves on the Web."""

    contact: str = ""
    """An e-mail address or a page where a webmaster reaches you; sent with every request."""
    product: str = "gossamer"
    """The product token of the User-Agent, which robots.txt groups name."""
    page: str = "https://gossamer.example/crawler"
    """What the User-Agent says about us can be read there."""
    concurrency: PositiveInt = 256
    """Most hosts visited at once."""
    connect_limit: PositiveFloat = 10.0
    first_byte_limit: PositiveFloat = 15.0
    between_bytes_limit: PositiveFloat = 15.0
    visit_limit: PositiveFloat = 60.0
    """The most time one visit may take."""
    body_limit: BodySize = 2 << 20
    robots_limit: BodySize = 500 << 10
    """How much of a robots.txt is read."""
    robots_age: PositiveFloat = 86400.0
    """How long a robots.txt holds."""
    allow_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Private or loopback networks that may be visited all the same."""
    nameserver: str = ""
    """Address of the DNS server to ask, with :PORT if that is not 53; empty: the system's."""
    lookups_limit: PositiveInt = 32
    """Most DNS lookups in flight."""
    unparsed_limit: PositiveInt = 500
    """While this many fetched pages wait for the parser or the archive, no new visit begins."""

    def model_post_init(self, context: Any) -> None:
        """Refuse a name server that is no address: there is nobody to ask for it."""
        if self.nameserver and not _is_server(self.nameserver):
            raise BadSettings(
                f"fetcher.nameserver: {self.nameserver!r} is no ADDRESS or ADDRESS:PORT, "
                "such as 192.0.2.1:53 or [2001:db8::1]"
            )


def _is_server(text: str) -> bool:
    try:
        server = urlsplit(f"//{text}")
        ip_address(server.hostname or "")
        return server.netloc == text and "@" not in text and server.port != 0
    except ValueError:
        return False


class ParserSettings(Section):
    """How pages are read."""

    workers: Natural = 0
    """Worker processes; 0 = as many as there are cores."""
    text: bool = True
    """Whether the main text is extracted."""
    page_limit: PositiveFloat = 10.0
    """The most time a page may take."""
    memory_limit: PositiveInt = 512 << 20
    """The most memory a page may take, beyond what a worker needs to begin with."""
    decoded_limit: PositiveInt = 2 << 20


class ArchiveSettings(Section):
    """How captures are kept."""

    segment_size: PositiveInt = 1 << 30
    """A WARC file is complete when it is larger than this."""
    folder: Path = Path("gossamer-data/warc")
    """Where a fleet's instance keeps its files, in a folder of its own name."""


class DedupSettings(Section):
    """The URL-seen test in a fleet."""

    folder: Path = Path("gossamer-data/dedup")
    """Where an instance keeps its tables; its own, and lasting."""
    standbys: Natural = 1
    """How many other instances hold a copy of each table."""


class HouseSettings(Section):
    """The embedded crawl."""

    patience: NotNegative = 300.0
    """How long a run waits for hosts that are blocked, when nothing else is left to do."""


class LogSettings(Section):
    """What is said on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "warning"
    json_lines: bool = False


class Settings(BaseSettings):
    """All settings of a crawl."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    crawl: CrawlSettings = CrawlSettings()
    frontier: FrontierSettings = FrontierSettings()
    fetcher: FetcherSettings = FetcherSettings()
    parser: ParserSettings = ParserSettings()
    archive: ArchiveSettings = ArchiveSettings()
    dedup: DedupSettings = DedupSettings()
    house: HouseSettings = HouseSettings()
    logs: LogSettings = LogSettings()
    kafka: KafkaSettings = KafkaSettings()
    cassandra: CassandraSettings = CassandraSettings()
    service: ServiceSettings = ServiceSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what :func:`load_settings` has merged, and nothing besides."""
        return (init_settings,)


Nested = dict[str, Any]


def load_settings(file: Path | None = None, overrides: Nested | None = None) -> Settings:
    """Merge file, environment, *overrides*; raise BadSettings that names all that is wrong.

    Where no *file* is named, the environment may name one: GOSSAMER_CONFIG.
    """
    named = os.environ.get(CONFIG)
    file = file or (Path(named) if named else None)
    merged: Nested = {}
    for layer in (_from_file(file) if file else {}, _from_environment(), overrides or {}):
        merged = _merge(merged, layer)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise BadSettings(_in_words(error)) from error


def _from_file(file: Path) -> Nested:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise BadSettings(f"settings file {file} cannot be read: {error}") from error


def _from_environment() -> Nested:
    for name in os.environ:
        section, _, field = name.removeprefix(PREFIX).lower().partition("__")
        if not name.startswith(PREFIX) or name in NO_SETTINGS:
            continue
        kind = Settings.model_fields.get(section)
        fields = getattr(kind.annotation, "model_fields", {}) if kind else {}
        if field not in fields:
            raise BadSettings(f"environment variable {name} is no setting of Gossamer")
    try:
        found: Nested = EnvSettingsSource(Settings)()
    except SettingsError as error:
        raise BadSettings(
            f'environment: {error}; a list is written as JSON, like ["10.0.0.0/8"]'
        ) from error
    return found


def _merge(under: Nested, over: Nested) -> Nested:
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        both = isinstance(value, dict) and isinstance(below, dict)
        merged[name] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _in_words(error: ValidationError) -> str:
    wrongs = []
    for wrong in error.errors():
        # Brackets are in the names of validators, which say nothing to a person.
        name = ".".join(str(part) for part in wrong["loc"] if "[" not in str(part))
        if wrong["type"] == "extra_forbidden":
            wrongs.append(f"{name}: there is no such setting")
        else:
            # What a whole section was given may hold a secret.
            given = "" if isinstance(wrong["input"], dict) else f", not {wrong['input']!r}"
            said = wrong["msg"].removeprefix("Value error, ")
            wrongs.append(f"{name}: {said}{given}")
    return "settings: " + "; ".join(wrongs)
