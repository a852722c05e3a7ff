"""The settings of `gossamer crawl`: its profile, and the source of each setting."""

import argparse

from gossamer.console.cli.crawl_options import CRAWL_OPTIONS, overrides_of
from gossamer.inspection.basics.folder import Folder
from gossamer.settings import NO_PROFILE, OVERRIDES, sources_of

PROFILE = "profile "
"""The beginning of the source of a setting that is the profile's."""


def profile_of(options: argparse.Namespace, folder: Folder) -> str:
    """Return the profile of the command, or else the one that *folder* remembers; "" for none."""
    if options.profile is None:
        return folder.profile()
    return "" if options.profile == NO_PROFILE else str(options.profile)


def sources_of_run(options: argparse.Namespace, profile: str) -> dict[tuple[str, str], str]:
    """Return section and field of each setting that is not a default, with its source, in words."""
    names = {setting: option.name for option in CRAWL_OPTIONS for setting in option.sets}
    found = sources_of(options.config, overrides_of(options, CRAWL_OPTIONS), profile)
    return {
        at: f"{OVERRIDES} {names['.'.join(at)]}" if source == OVERRIDES else source
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
