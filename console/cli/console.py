"""`gossamer console`: the HTTP API of a crawl, at 127.0.0.1."""

import argparse
import os
import socket

from console.cli.options import add_place, add_port, open_from
from console.output import say
from gossamer.errors import BadSettings
from gossamer.extras import require_extra

DEFAULT_PORT = 8080


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_port(command, DEFAULT_PORT)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Serve until the process is interrupted."""
    require_extra("api")
    with open_from(options):
        pass  # A crawl that cannot be opened is reported here, and not by the server.
    # Imported here, because both are in an optional extra.
    import uvicorn

    from console.api.app import make_app

    listener = listen(options.port)
    address = f"http://127.0.0.1:{options.port}"
    say(f"Serving {address}/v1/status, /v1/url?url=URL, /v1/history?url=URL, /v1/hosts, /v1/sites")
    say(f"{address}/schema/openapi.json describes them. Ctrl-C stops.")
    app = make_app(lambda: open_from(options), options.port)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
    return 0


def listen(number: int) -> socket.socket:
    """Return a listening socket at 127.0.0.1; raise BadSettings if the port is in use."""
    try:
        return socket.create_server(("127.0.0.1", number))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise BadSettings(f"--port {number}: {reason}; name another port") from error
