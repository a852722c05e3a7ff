"""The settings of `gossamer crawl`: options, profile, and the source of each setting."""

import argparse
from typing import Any

from gossamer.console.cli.options import DEFINITION_OPTIONS, INTO_SETTINGS, overrides_of
from gossamer.inspection.basics.folder import Folder
from gossamer.settings import NO_PROFILE, OVERRIDES, sources_of

PROFILE = "profile "
"""The beginning of the source of a setting that is the profile's."""


def overrides_of_run(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the settings that the options of the command override, by section."""
    overrides = overrides_of(options)
    if options.rules_strict:
        overrides["standalone"] = {"rules_strict": True}
    if options.no_text:
        overrides.setdefault("parser", {})["text"] = "off"
    if options.json_logs:
        overrides["logs"] = {"json_lines": True, "level": "info"}
    return overrides


def profile_of(options: argparse.Namespace, folder: Folder) -> str:
    """Return the profile of the command, or else the one that *folder* remembers; "" for none."""
    if options.profile is None:
        return folder.profile()
    return "" if options.profile == NO_PROFILE else str(options.profile)


def sources_of_run(options: argparse.Namespace, profile: str) -> dict[tuple[str, str], str]:
    """Return section and field of each setting that is not a default, with its source, in words."""
    names = {("parser", "text"): "--no-text"}
    names |= {("logs", name): "--json-logs" for name in ("json_lines", "level")}
    names |= {into: f"--{name.replace('_', '-')}" for name, into in INTO_SETTINGS.items()}
    for option, how in DEFINITION_OPTIONS:
        names["crawl", how.get("dest", option[2:].replace("-", "_"))] = option
    found = sources_of(options.config, overrides_of_run(options), profile)
    return {
        at: f"{OVERRIDES} {names[at]}" if source == OVERRIDES else source
        for at, source in found.items()
    }


def fields_of_profile(options: argparse.Namespace, profile: str) -> set[str]:
    """Return the settings of a crawl's definition that *profile* alone sets."""
    found = sources_of_run(options, profile)
    return {
        field
        for (section, field), source in found.items()
        if section == "crawl" and source.startswith(PROFILE)
    }
