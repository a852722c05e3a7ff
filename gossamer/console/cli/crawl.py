"""`gossamer crawl`: all crawls of one folder, on this machine."""

import argparse

from gossamer.console.cli.crawl_options import CRAWL_OPTIONS
from gossamer.console.cli.options import add_config, add_data, add_strict_seeds


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("seeds", nargs="*", metavar="SEED", help="a URL to start from")
    add_data(command)
    add_config(command)
    add_strict_seeds(command)
    for option in CRAWL_OPTIONS:
        option.add_to(command)


def run(options: argparse.Namespace) -> int:
    """Crawl, and print a report; with `--explain`, print the settings."""
    if options.explain:
        from gossamer.console.cli.explaining import explain_settings

        return explain_settings(options)
    # It imports all services, which takes longer than the help.
    from gossamer.console.cli.crawling import run_command

    return run_command(options)
