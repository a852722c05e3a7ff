"""`gossamer doctor`: checks a fleet, or a folder, and says what to do where something is wrong."""

import argparse

import msgspec

from console.cli.options import add_crawl, settings_of
from console.doctor import Finding, examine_fleet, examine_folder, well
from console.figures import plural
from console.open_crawl import DATA
from gossamer.terminal import json_line, printable

LONGEST = 2000
"""Characters of a line."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    add_crawl(command)
    command.add_argument("--json", action="store_true", help="the findings, for programs")


def run(options: argparse.Namespace) -> int:
    """Print a line for each finding; return 0 if all is well, 1 if something has to be done."""
    settings = settings_of(options)
    is_fleet = options.data is None and (settings.kafka.servers or settings.cassandra.hosts)
    examined = (
        examine_fleet(settings) if is_fleet else examine_folder(options.data or DATA, settings)
    )
    findings = list[Finding]()
    for finding in examined:
        findings.append(finding)
        if not options.json:
            # In parallel: a server that is away takes its whole timeout.
            print(printable(line(finding), LONGEST), flush=True)
    if options.json:
        print(json_line(msgspec.json.format(msgspec.json.encode(findings))))
    elif well(findings):
        print("All is well.")
    else:
        wrong = sum(one.remedy is not None for one in findings)
        print(f"{wrong} of {plural(len(findings), 'check')}: something has to be done.")
    return 0 if well(findings) else 1


def line(finding: Finding) -> str:
    """Return *finding* as a person reads it."""
    state = "ok" if finding.remedy is None else "wrong"
    remedy = "" if finding.remedy is None else f". {finding.remedy}"
    return f"{state:5}  {finding.check:10}  {finding.found.rstrip('.')}{remedy}"
