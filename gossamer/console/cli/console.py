"""`gossamer console`: the web console and the HTTP API of a crawl."""

import argparse
import signal
import sys

from gossamer.console.cli.options import add_place, folder_of, open_from, port, settings_of
from gossamer.console.output import say
from gossamer.extras import require_extra


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "--port", type=port, metavar="N", help="the port to listen on (default: api.port, 8080)"
    )
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Serve until the process is interrupted."""
    require_extra("api")
    settings = settings_of(options)
    with open_from(options) as crawl:
        # A crawl that cannot be opened is reported here, and not by the server.
        folder = None if crawl.fleet else folder_of(options).path
    # Imported here, because it needs an optional extra.
    from gossamer.console.api.hosts_index import Place
    from gossamer.console.api.process import TOKEN_FILE, listening, serve
    from gossamer.console.reader import exit_if_reading

    # The server ends by the signal that stopped it; the file with the token must be removed then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    token_file = folder / TOKEN_FILE if folder else None
    try:
        with listening(settings.api, options.port or settings.api.port, token_file) as site:
            say(f"Console: {site.link}")
            if site.token_file:
                say(f"The link logs you in. Programs find its token in {site.token_file}.")
            elif site.token:
                say("The link logs you in. It has the token of this process.")
            say(f"API: {site.address}/schema/openapi.json describes it. Ctrl-C stops.")
            serve(site, lambda: open_from(options), Place(folder, settings))
    except (SystemExit, KeyboardInterrupt) as stopped:
        exit_if_reading(0 if isinstance(stopped, SystemExit) else 130)
        raise
    return 0
