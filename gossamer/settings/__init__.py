"""Settings from the environment (`GOSSAMER_FRONTIER__DELAY=2`), a TOML file and the command line.

The command line overrides the environment, the environment overrides the file, and the file
overrides a profile. An unknown name
or an invalid value is an error that names the setting, before anything starts.
`docs/configuration.md` lists all settings. `scripts/schemas` generates it from these classes.
"""

from gossamer.settings.api import ApiSettings
from gossamer.settings.load import OVERRIDES, Nested, Settings, load_settings, sources_of
from gossamer.settings.notify import NotifySettings
from gossamer.settings.profiles import NO_PROFILE, PROFILES
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

__all__ = [
    "NO_PROFILE",
    "OVERRIDES",
    "PROFILES",
    "ApiSettings",
    "ArchiveSettings",
    "BlobsSettings",
    "CassandraSettings",
    "CrawlSettings",
    "DedupSettings",
    "FetcherSettings",
    "FrontierSettings",
    "KafkaSettings",
    "LogSettings",
    "Nested",
    "NotifySettings",
    "ParserSettings",
    "ServiceSettings",
    "Settings",
    "StandaloneSettings",
    "load_settings",
    "sources_of",
]
