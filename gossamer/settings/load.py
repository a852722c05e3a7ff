"""Where settings come from: the command line over the environment over a TOML file.

Sections are merged setting by setting. The library's own TOML source passes over a file that is
missing, so the file is read here.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from gossamer.errors import BadSettings
from gossamer.settings.crawling import CrawlSettings
from gossamer.settings.reading import ParserSettings
from gossamer.settings.sections import (
    ArchiveSettings,
    DedupSettings,
    FetcherSettings,
    FrontierSettings,
    LogSettings,
    StandaloneSettings,
)
from gossamer.settings.servers import CassandraSettings, KafkaSettings, ServiceSettings

PREFIX = "GOSSAMER_"
DELIMITER = "__"
CONFIG = "GOSSAMER_CONFIG"
OTHER_VARIABLES = {
    CONFIG: "The TOML file, where a command has no `--config`.",
    "GOSSAMER_PYTHON": "The interpreter that the scripts make the virtual environment with.",
    "GOSSAMER_VENV": "The folder of the virtual environment, instead of `.venv`.",
    "GOSSAMER_SERVERS": "Where `scripts/fleet` keeps the programs of Kafka and Cassandra.",
    "GOSSAMER_SUITES": "The folder of a copy of the third-party test data of `scripts/suites`.",
}
"""What is read before there are settings: by the shell scripts, or for the file's name."""
RENAMED = {"house": "standalone"}

Nested = dict[str, Any]


class Settings(BaseSettings):
    """All settings of a crawl."""

    # `[Crawl]` is refused like any unknown table; otherwise one of `[Crawl]` and `[crawl]` would be
    # dropped without a word.
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
    dedup: DedupSettings = DedupSettings()
    standalone: StandaloneSettings = StandaloneSettings()
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
        found = "; ".join(_in_words(one) for one in error.errors())
        raise BadSettings(f"settings: {found}") from error


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
            raise BadSettings(
                f"environment variable {name} is no setting of Gossamer{_new_name(section)}"
            )
    try:
        found: Nested = EnvSettingsSource(Settings, case_sensitive=False)()
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


def _fields(section: str) -> dict[str, Any]:
    kind = Settings.model_fields.get(section)
    return getattr(kind.annotation, "model_fields", {}) if kind else {}


def _new_name(section: str) -> str:
    return f"; {section} is called {RENAMED[section]} now" if section in RENAMED else ""


def _in_words(error: ErrorDetails) -> str:
    # Brackets are in the names of validators, which say nothing to a person.
    name = ".".join(str(part) for part in error["loc"] if "[" not in str(part))
    match error["type"]:
        case "extra_forbidden":
            return f"{name}: there is no such setting{_new_name(name)}"
        case "model_type":
            return f"{name}: is a table of settings, [{name}]"
    message = error["msg"].removeprefix("Value error, ")
    return f"{name}: {message}{_given(error)}"


def _given(error: ErrorDetails) -> str:
    """Return what was given instead, unless that is a secret, or a section that may hold one."""
    section, field, *_ = (*map(str, error["loc"]), "")
    setting = _fields(section).get(field)
    if setting is None or setting.annotation is SecretStr:
        return ""
    return f", not {error['input']!r}"
