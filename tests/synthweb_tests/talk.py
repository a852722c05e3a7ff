"""A client that knows nothing of the world: bytes out, bytes in."""

import socket
import struct
from http.client import HTTPConnection, HTTPResponse

ANSWER_TIMEOUT = 20.0


def get(port: int, host: str, path: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=ANSWER_TIMEOUT)
    connection.request("GET", path, headers={"Host": f"{host}:{port}", "User-Agent": "talk/1"})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def open_get(port: int, host: str, path: str) -> socket.socket:
    """Return a connection on which a request was just sent."""
    connection = socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return connection


def raw_get(port: int, host: str, path: str) -> bytes:
    """Return all bytes until the server closes the connection."""
    with open_get(port, host, path) as connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


def query(name: str, kind: int = 1, identity: int = 99) -> bytes:
    labels = b"".join(struct.pack("B", len(it)) + it.encode() for it in name.split("."))
    return (
        struct.pack(">6H", identity, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)
    )


def ask_udp(nameserver: str, message: bytes) -> bytes:
    host, port = nameserver.split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as talker:
        talker.settimeout(ANSWER_TIMEOUT)
        talker.sendto(message, (host, int(port)))
        return talker.recv(4096)


def ask_tcp(nameserver: str, message: bytes) -> bytes:
    host, port = nameserver.split(":")
    with socket.create_connection((host, int(port)), ANSWER_TIMEOUT) as talker:
        talker.sendall(struct.pack(">H", len(message)) + message)
        with talker.makefile("rb") as stream:
            (length,) = struct.unpack(">H", stream.read(2))
            return stream.read(length)
