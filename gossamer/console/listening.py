"""The listening socket of a server that a command starts."""

import os
import socket

from gossamer.errors import BadSettings

LOOPBACK = "127.0.0.1"
BACKLOG = 128


def listen(port: int, address: str = LOOPBACK) -> socket.socket:
    """Return a listening socket; raise BadSettings if the address or the port cannot be used."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise BadSettings(f"port {port}: {reason}; name another port") from error
