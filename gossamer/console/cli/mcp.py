"""`gossamer mcp`: a server of the Model Context Protocol over the pages of a folder, on stdio."""

import argparse

from gossamer.console.cli.crawl_options import ALLOW_NETWORK, CONTACT
from gossamer.console.cli.options import add_config, add_data
from gossamer.extras import require_extra


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(command)
    add_config(command)
    command.add_argument("--crawl", metavar="ID", help="the crawl, if the folder has several")
    command.add_argument(
        "--allow-crawl",
        action="store_true",
        help="add a tool that fetches URLs within the scope of the crawl",
    )
    for option in (CONTACT, ALLOW_NETWORK):
        option.add_to(command, "with --allow-crawl: ")


def run(options: argparse.Namespace) -> int:
    """Serve until standard input ends."""
    require_extra("mcp")
    # It imports the SDK, which takes longer than the help.
    from gossamer.console.cli.mcp_server import make_server

    make_server(options).run("stdio")
    return 0
