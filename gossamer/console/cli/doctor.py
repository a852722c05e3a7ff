"""`gossamer doctor`: checks a fleet or a folder, and names the remedy for each problem."""

import argparse

from gossamer.console.cli.options import add_place, folder_of, settings_of
from gossamer.console.doctor import Finding, examine_fleet, examine_folder
from gossamer.console.output import print_checks


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_place(command)
    command.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(options: argparse.Namespace) -> int:
    """Print a line for each finding; return 1 if there is a problem."""
    settings = settings_of(options)
    is_fleet = options.data is None and (settings.kafka.servers or settings.cassandra.hosts)
    examined = (
        examine_fleet(settings) if is_fleet else examine_folder(folder_of(options).path, settings)
    )
    return print_checks(examined, options.json, line, lambda finding: finding.remedy is None)


def line(finding: Finding) -> str:
    """Return *finding* as a line."""
    state = "ok" if finding.remedy is None else "problem"
    remedy = "" if finding.remedy is None else f". {finding.remedy}"
    return f"{state:7}  {finding.check:10}  {finding.found.rstrip('.')}{remedy}"
