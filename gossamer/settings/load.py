"""Loads settings: the command line over the environment over a TOML file over a profile.

Sections are merged setting by setting. The file is read here because the TOML source of
pydantic-settings ignores a missing file.
"""

import os
import tomllib
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from gossamer.errors import BadSettings, GossamerError
from gossamer.extras import require_extra
from gossamer.settings.api import ApiSettings
from gossamer.settings.notify import NotifySettings
from gossamer.settings.profiles import PROFILES
from gossamer.settings.sections import (
    ArchiveSettings,
    BlobsSettings,
    CrawlSettings,
    DedupSettings,
    FetcherSettings,
    FrontierSettings,
    LogSettings,
    ParserSettings,
    StandaloneSettings,
)
from gossamer.settings.servers import CassandraSettings, KafkaSettings, ServiceSettings

PREFIX = "GOSSAMER_"
DELIMITER = "__"
CONFIG = "GOSSAMER_CONFIG"
OTHER_VARIABLES = {
    CONFIG: "The TOML file of a command without `--config`.",
    "GOSSAMER_PYTHON": "The interpreter for the virtual environment that the scripts create.",
    "GOSSAMER_VENV": "The folder of the virtual environment. Without it, the folder is `.venv`.",
    "GOSSAMER_SERVERS": "The folder of `scripts/fleet` for the programs of Kafka and Cassandra.",
    "GOSSAMER_SUITES": "The folder with a copy of the third-party test data of `scripts/suites`.",
}
"""Environment variables that are not settings: shell scripts read them, or they name the file."""

Nested = dict[str, Any]


class Settings(BaseSettings):
    """All settings of a crawl."""

    # `[Crawl]` is an error like any unknown table. Otherwise one of `[Crawl]` and `[crawl]` would
    # be ignored silently.
    model_config = SettingsConfigDict(
        case_sensitive=True,
        env_nested_delimiter=DELIMITER,
        env_prefix=PREFIX,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    crawl: CrawlSettings = CrawlSettings()
    frontier: FrontierSettings = FrontierSettings()
    fetcher: FetcherSettings = FetcherSettings()
    parser: ParserSettings = ParserSettings()
    archive: ArchiveSettings = ArchiveSettings()
    blobs: BlobsSettings = BlobsSettings()
    dedup: DedupSettings = DedupSettings()
    standalone: StandaloneSettings = StandaloneSettings()
    logs: LogSettings = LogSettings()
    kafka: KafkaSettings = KafkaSettings()
    cassandra: CassandraSettings = CassandraSettings()
    service: ServiceSettings = ServiceSettings()
    api: ApiSettings = ApiSettings()
    notify: NotifySettings = NotifySettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the values that :func:`load_settings` has merged."""
        return (init_settings,)


def load_settings(
    file: Path | None = None, overrides: Nested | None = None, profile: str = ""
) -> Settings:
    """Merge *profile*, file, environment and *overrides*. Raise BadSettings that names all errors.

    Without *file*, the environment variable GOSSAMER_CONFIG may name the file. *profile* is one of
    PROFILES, or "".
    """
    merged: Nested = {}
    for layer in _layers(file, overrides, profile).values():
        merged = _merge(merged, layer)
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        found = "; ".join(_describe_error(one) for one in error.errors())
        raise BadSettings(f"settings: {found}") from error
    if settings.parser.text == "rust":
        try:
            require_extra("rust")
        except GossamerError as error:
            raise BadSettings(f"parser.text: rust: {error}") from error
    archive = settings.archive
    if archive.requisites != "off" and not settings.parser.requisites_limit:
        raise BadSettings(
            f"archive.requisites: {archive.requisites} needs parser.requisites_limit, which is 0"
        )
    if archive.requisites != "off" and "requisites" not in settings.parser.fields:
        raise BadSettings(
            f"archive.requisites: {archive.requisites} needs requisites among parser.fields"
        )
    more = {"archive.media": archive.media, "archive.srcset": archive.srcset == "all"}
    for name in (name for name, is_set in more.items() if is_set and archive.requisites == "off"):
        raise BadSettings(f"{name}: needs archive.requisites, which is off")
    return settings


OVERRIDES = "option"
"""The source of a setting that `load_settings` was called with."""


def sources_of(
    file: Path | None = None, overrides: Nested | None = None, profile: str = ""
) -> dict[tuple[str, str], str]:
    """Return section and field of each setting that is not a default, with its source, in words.

    The arguments are those of `load_settings`.
    """
    found: dict[tuple[str, str], str] = {}
    for source, layer in _layers(file, overrides, profile).items():
        for section, fields in layer.items():
            for field in fields if isinstance(fields, dict) else ():
                name = f"{PREFIX}{section}{DELIMITER}{field}".upper()
                found[section, field] = f"{source} {name}" if source == ENVIRONMENT else source
    return found


ENVIRONMENT = "environment"


def _layers(file: Path | None, overrides: Nested | None, profile: str) -> dict[str, Nested]:
    """Return the source of each layer of settings, in words, with its values; the lowest first."""
    named = os.environ.get(CONFIG)
    file = file or (Path(named) if named else None)
    if profile and profile not in PROFILES:
        raise BadSettings(f"profile {profile!r}: not one of {', '.join(PROFILES)}")
    return {
        f"profile {profile}": PROFILES[profile].settings if profile else {},
        f"file {file}": _from_file(file) if file else {},
        ENVIRONMENT: _from_environment(),
        OVERRIDES: overrides or {},
    }


def _from_file(file: Path) -> Nested:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise BadSettings(f"settings file {file} cannot be read: {error}") from error


def _from_environment() -> Nested:
    for name in os.environ:
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        section, _, field = name.removeprefix(PREFIX).lower().partition(DELIMITER)
        if field not in _fields(section):
            raise BadSettings(f"environment variable {name} is not a setting of Gossamer")
    try:
        found: Nested = EnvSettingsSource(Settings, case_sensitive=False)()
    except SettingsError as error:
        raise BadSettings(
            f'environment: {error}; lists are written as JSON, such as ["10.0.0.0/8"]'
        ) from error
    return found


def _merge(under: Nested, over: Nested) -> Nested:
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        both = isinstance(value, dict) and isinstance(below, dict)
        merged[name] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _fields(section: str) -> dict[str, Any]:
    kind = Settings.model_fields.get(section)
    return getattr(kind.annotation, "model_fields", {}) if kind else {}


def _describe_error(error: ErrorDetails) -> str:
    # Names with brackets belong to pydantic's validators and not to settings.
    name = ".".join(str(part) for part in error["loc"] if "[" not in str(part))
    match error["type"]:
        case "extra_forbidden":
            return f"{name}: unknown setting"
        case "model_type":
            return f"{name}: must be a table, [{name}]"
    message = error["msg"].removeprefix("Value error, ")
    return f"{name}: {message}{_invalid_value(error)}"


def _invalid_value(error: ErrorDetails) -> str:
    """Return the invalid value as text, or "" for a secret or a section that may contain one."""
    section, field, *_ = (*map(str, error["loc"]), "")
    setting = _fields(section).get(field)
    if setting is None or SecretStr in (setting.annotation, *get_args(setting.annotation)):
        return ""
    return f", not {error['input']!r}"
