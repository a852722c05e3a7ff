"""Settings: from the environment (`GOSSAMER_FRONTIER__DELAY=2`), a TOML file, the command line.

The command line wins over the environment, the environment over the file. An unknown name and a
value that makes no sense are errors that name the setting, before anything starts.
`docs/configuration.md` lists all settings; `scripts/schemas` writes it from the classes here.
"""

from gossamer.settings.crawling import CrawlSettings
from gossamer.settings.load import Nested, Settings, load_settings
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

__all__ = [
    "ArchiveSettings",
    "CassandraSettings",
    "CrawlSettings",
    "DedupSettings",
    "FetcherSettings",
    "FrontierSettings",
    "KafkaSettings",
    "LogSettings",
    "Nested",
    "ParserSettings",
    "ServiceSettings",
    "Settings",
    "StandaloneSettings",
    "load_settings",
]
