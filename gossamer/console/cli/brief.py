"""Brief crawls of the commands `try` and `check`: their settings and their definition."""

import argparse
from dataclasses import replace as replace_request

from msgspec.structs import replace

from gossamer import clock
from gossamer.console.cli.crawl_options import VISIT_OPTIONS, overrides_of, request_of
from gossamer.crawl import SCOPES, define
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.services.fetcher.access import request_headers
from gossamer.settings import Nested, Settings, load_settings
from gossamer.standalone.brief import BRIEF_SETTINGS
from gossamer.telemetry.logs import configure_logs


def settings_for(options: argparse.Namespace, **sections: Nested) -> tuple[Settings, Settings]:
    """Return the settings of the user, and those of the brief crawl, with *sections*.

    Raise BadSettings without a contact.
    """
    overrides = overrides_of(options, VISIT_OPTIONS)
    settings = load_settings(options.config, overrides)
    request_headers(settings.fetcher)
    configure_logs(as_json=False, level="error")
    brief = dict(overrides)
    for section, fields in (*BRIEF_SETTINGS.items(), *sections.items()):
        brief[section] = {**brief.get(section, {}), **fields}
    return settings, load_settings(options.config, brief)


def definition_of(
    options: argparse.Namespace, settings: Settings, seeds: tuple[str, ...]
) -> CrawlDefined:
    """Return the definition of a crawl of *seeds* with *options*. Seeds may be out of its scope."""
    crawl = settings.crawl
    request = request_of(options, crawl, crawl.model_fields_set, seeds, DEFAULT_CRAWL)
    if request.scope in ("", *SCOPES):
        return define(request, None, 0, clock.now())
    defined = define(replace_request(request, scope="any"), None, 0, clock.now())
    return replace(defined, scope=request.scope, scope_of_seeds="")
