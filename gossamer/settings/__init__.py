"""Settings from the environment (`GOSSAMER_FRONTIER__DELAY=2`), a TOML file and the command line.

The command line overrides the environment, and the environment overrides the file. An unknown name
or an invalid value is an error that names the setting, before anything starts.
`docs/configuration.md` lists all settings. `scripts/schemas` generates it from these classes.
"""

from gossamer.settings.api import ApiSettings
from gossamer.settings.load import Nested, Settings, load_settings
from gossamer.settings.notify import NotifySettings
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
]
