"""`gossamer mcp`: a server of the Model Context Protocol over the pages of a crawl, on stdio."""

import argparse
from pathlib import Path

from gossamer.console.cli.crawl_options import ALLOW_NETWORK, CONTACT
from gossamer.console.cli.options import add_crawl
from gossamer.extras import require_extra


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument(
        "--index",
        type=Path,
        metavar="FILE",
        help="the file with the index of the search (default: search.db in the folder; a fleet "
        "has no default)",
    )
    command.add_argument(
        "--allow-crawl",
        action="store_true",
        help="add a tool that fetches URLs within the scope of the crawl",
    )
    for option in (CONTACT, ALLOW_NETWORK):
        option.add_to(command, "with --allow-crawl, in a folder: ")


def run(options: argparse.Namespace) -> int:
    """Serve until standard input ends."""
    require_extra("mcp")
    # It imports the SDK, which takes longer than the help.
    from gossamer.console.cli.mcp_server import make_server

    make_server(options).run("stdio")
    return 0
