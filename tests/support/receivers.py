"""Receivers of notices: an HTTP server and an SMTP server on loopback, which can be restarted."""

import socketserver
import ssl
import threading
from base64 import b64decode
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

MAX_LINE = 1 << 16


class Server:
    """A server in a thread, on the same port after each start."""

    def __init__(self) -> None:
        self.port = 0
        self._server: socketserver.TCPServer | None = None

    def _make(self) -> socketserver.TCPServer:
        raise NotImplementedError

    def start(self) -> None:
        """Listen."""
        server = self._make()
        self._server, self.port = server, server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Close the port; what was received stays."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Http(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


class HookServer(Server):
    """Receives webhooks. It answers with *status*, and with *location* if that is not ""."""

    def __init__(self, status: int = 204, location: str = "") -> None:
        super().__init__()
        self.status, self.location = status, location
        self.received: list[tuple[bytes, dict[str, str]]] = []
        """Body and headers of each request, the names in lower case."""

    def _make(self) -> socketserver.TCPServer:
        hooks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                hooks.received.append((body, headers))
                self.send_response(hooks.status)
                if hooks.location:
                    self.send_header("Location", hooks.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return _Http(("127.0.0.1", self.port), Handler)


class _Smtp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class MailServer(Server):
    """Receives mails by SMTP. It refuses *refused* receivers.

    *starttls*: it accepts mails after STARTTLS alone. *login*: the required user name and password.
    """

    def __init__(
        self,
        refused: str = "",
        starttls: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.refused, self.starttls, self.login = refused, starttls, login
        self.received: list[tuple[str, list[str], EmailMessage]] = []
        """Sender, receivers and message."""

    def _make(self) -> socketserver.TCPServer:
        mails = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                sender, receivers = "", list[str]()
                is_secure, is_known = mails.starttls is None, mails.login is None
                self._say("220 ready")
                while line := self.rfile.readline(MAX_LINE).decode().strip():
                    verb, _, rest = line.partition(" ")
                    match verb.upper():
                        case "EHLO":
                            self._say("250-ok")
                            self._say("250 AUTH PLAIN" if is_secure else "250 STARTTLS")
                        case "HELO" | "RSET" | "NOOP":
                            self._say("250 ok")
                        case "STARTTLS" if mails.starttls:
                            self._say("220 go on")
                            self.request = mails.starttls.wrap_socket(
                                self.request, server_side=True
                            )
                            self.setup()
                            is_secure = True
                        case "AUTH" if is_secure and mails.login:
                            given = b64decode(rest.removeprefix("PLAIN ")).decode().split("\0")[1:]
                            is_known = given == [*mails.login]
                            self._say("235 welcome" if is_known else "535 wrong password")
                        case _ if not (is_secure and is_known):
                            self._say("530 log in first")
                        case "MAIL":
                            sender = rest[rest.index("<") + 1 : rest.index(">")]
                            self._say("250 ok")
                        case "RCPT":
                            receiver = rest[rest.index("<") + 1 : rest.index(">")]
                            if receiver == mails.refused:
                                self._say("550 no such user")
                                continue
                            receivers.append(receiver)
                            self._say("250 ok")
                        case "DATA":
                            self._say("354 go on")
                            mails.received.append((sender, receivers, self._message()))
                            self._say("250 accepted")
                        case "QUIT":
                            self._say("221 bye")
                            return
                        case _:
                            self._say("502 not implemented")

            def finish(self) -> None:
                super().finish()
                self.request.close()

            def _message(self) -> EmailMessage:
                lines = list[bytes]()
                while (line := self.rfile.readline(MAX_LINE)) != b".\r\n":
                    lines.append(line[1:] if line.startswith(b"..") else line)
                message = BytesParser(policy=default).parsebytes(b"".join(lines))
                assert isinstance(message, EmailMessage)
                return message

            def _say(self, text: str) -> None:
                self.wfile.write(f"{text}\r\n".encode())

        return _Smtp(("127.0.0.1", self.port), Handler)
