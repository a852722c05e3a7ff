"""`gossamer crawl`: all crawls of one folder, on this machine."""

import argparse
from typing import Any

from gossamer.console.cli.options import (
    DEFINITION_OPTIONS,
    VISIT_OPTIONS,
    add_config,
    add_data,
    add_strict_seeds,
    port,
    positive,
    seconds,
)


def _port_or_seed(text: str) -> int | str:
    """Read the port of `--console`, or the seed after `--console` without a port."""
    return port(text) if text.isdecimal() else text


OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--seeds",
        {
            "dest": "seeds_file",
            "metavar": "FILE",
            "help": "read seeds from FILE: a URL a line, JSON or CSV with url, a sitemap, a WACZ "
            "file, or the folder of a crawl; - is standard input",
        },
    ),
    (
        "--for",
        {
            "dest": "profile",
            "choices": ("rag", "archive", "watch", "none"),
            "help": "settings for pages that models read, for an archive, or for watching the "
            "seeds; the folder remembers them. none: forget them",
        },
    ),
    (
        "--explain",
        {"action": "store_true", "help": "print all settings with their sources; do not crawl"},
    ),
    (
        "--crawl",
        {
            "metavar": "ID",
            "help": "the crawl of the seeds and options; all active crawls of the folder run",
        },
    ),
    (
        "--max-pages",
        {"type": positive, "default": 0, "metavar": "N", "help": "stop after N pages of this run"},
    ),
    (
        "--max-time",
        {
            "type": seconds,
            "default": 0.0,
            "metavar": "TIME",
            "help": "stop after this time: 90s, 15m, 2h",
        },
    ),
    *VISIT_OPTIONS,
    *DEFINITION_OPTIONS,
    (
        "--rules-strict",
        {"action": "store_true", "help": "stop the crawl when a function of its rules fails"},
    ),
    (
        "--no-text",
        {"action": "store_true", "help": "extract links, but not the main text of pages"},
    ),
    (
        "--metrics-port",
        {"type": port, "metavar": "N", "help": "serve Prometheus metrics at 127.0.0.1:N/metrics"},
    ),
    (
        "--console",
        {
            "nargs": "?",
            "const": 0,
            "type": _port_or_seed,
            "metavar": "PORT",
            "help": "serve the web console beside the crawl (default: api.port, 8080)",
        },
    ),
    (
        "--until-stdin-closes",
        {
            "action": "store_true",
            "help": "stop as at Ctrl-C when standard input closes: for programs that start crawls",
        },
    ),
    ("--quiet", {"action": "store_true", "help": "print errors only"}),
    ("--verbose", {"action": "store_true", "help": "report every count and the slowest hosts"}),
    ("--json-logs", {"action": "store_true", "help": "progress and logs as JSON, on stderr"}),
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("seeds", nargs="*", metavar="SEED", help="a URL to start from")
    add_data(command)
    add_config(command)
    add_strict_seeds(command)
    for name, settings in OPTIONS:
        command.add_argument(name, **settings)


def run(options: argparse.Namespace) -> int:
    """Crawl, and print a report; with `--explain`, print the settings."""
    if options.explain:
        from gossamer.console.cli.explaining import explain_settings

        return explain_settings(options)
    # It imports all services, which takes longer than the help.
    from gossamer.console.cli.crawling import run_command

    return run_command(options)
