"""`gossamer crawl --explain`: all settings of a crawl, each with its source, as a settings file."""

import argparse
import json
import sys
from typing import Any

from pydantic import SecretStr

from gossamer.console.cli.crawl_options import (
    CRAWL_OPTIONS,
    fields_of_profile,
    overrides_of,
    profile_of,
    sources_of_run,
)
from gossamer.console.output import BOLD, DIM, output_for
from gossamer.crawl import CRAWL_SETTINGS, choose_crawl, definitions_of
from gossamer.events import CrawlDefined
from gossamer.inspection.basics.folder import Folder
from gossamer.settings import PROFILES, load_settings
from gossamer.terminal import printable

DEFAULT = "default"
VALUE_WIDTH = 44
"""Columns of a setting, before its source."""


def explain_settings(options: argparse.Namespace) -> int:
    """Print all settings of the crawl in TOML, with the source of each as a comment."""
    folder = Folder(options.data)
    profile = profile_of(options, folder)
    settings = load_settings(options.config, overrides_of(options, CRAWL_OPTIONS), profile)
    sources, kept = sources_of_run(options, profile), _read_kept_parts(options, folder, profile)
    output = output_for(sys.stdout)
    if profile:
        print(output.style(f"# Profile {profile}: {PROFILES[profile].text}", DIM))
    for section in type(settings).model_fields:
        print(output.style(f"[{section}]", BOLD))
        for name, value in getattr(settings, section):
            source = sources.get((section, name), DEFAULT)
            if section == "crawl" and name in kept:
                value, source = kept[name], f"the crawl in {folder.path}"
            style = DIM if source == DEFAULT else ""
            line = f"{_line(name, value):{VALUE_WIDTH}}  # {printable(source)}"
            print(output.style(line, style))
    return 0


def _read_kept_parts(options: argparse.Namespace, folder: Folder, profile: str) -> dict[str, Any]:
    """Return the parts of the crawl's definition that the run does not change."""
    definition = _definition(options, folder)
    if definition is None:
        return {}
    given = {field for (section, field) in sources_of_run(options, profile) if section == "crawl"}
    if profile == folder.profile():
        given -= fields_of_profile(options, profile)
    names = {"scope", *CRAWL_SETTINGS} - given - ({"scope"} if options.scope else set())
    return {name: getattr(definition, name) for name in names}


def _definition(options: argparse.Namespace, folder: Folder) -> CrawlDefined | None:
    if not folder.database.exists():
        return None
    crawls = definitions_of(folder.open().log)
    return crawls.get(choose_crawl(crawls, options.crawl, str(folder.path)))


def _line(name: str, value: Any) -> str:
    """Return a line of TOML; a comment for a secret and for a setting without a value."""
    if value is None:
        return f"# {name} is not set"
    if isinstance(value, SecretStr):
        return f"# {name} is secret" if value.get_secret_value() else f'{name} = ""'
    return f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, tuple | list | frozenset):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value))
