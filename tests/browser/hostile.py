"""A server whose pages attack the console that shows them: by titles, texts, headers and URLs.

Each attack would run a script that sets `window.attacked`, or make a request to the listener.
"""

import html
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

MARK = "attacked"


def attacks(listener: str) -> tuple[str, ...]:
    """Return texts that would attack a page that takes one of them for markup."""
    run = f"window.{MARK}=1;fetch('{listener}/run')"
    return (
        f"<script>{run}</script>",
        f'"><img src="{listener}/image" onerror="{run}">',
        f'\'><svg onload="{run}">',
        f'</title></textarea><iframe src="{listener}/frame"></iframe>',
        f"<style>@import '{listener}/style';</style>",
        f'<link rel="prefetch" href="{listener}/link">'
        f'<meta http-equiv="refresh" content="0;{listener}/refresh">',
        f"javascript:{run}",
        f"{{{{constructor.constructor('{run}')()}}}}",
        "\u202etxt.exe\u2066\x1b]0;title\x07\x9b31m",
    )


@dataclass
class HostileSite:
    """The running server."""

    address: str
    """`http://127.0.0.1:PORT`."""
    listener: str
    """An address of the attacker, where nothing listens until a test does."""
    urls: tuple[str, ...] = ()
    requests: list[str] = field(default_factory=list)


def _page(site: HostileSite) -> bytes:
    texts = attacks(site.listener)
    escaped = [html.escape(text) for text in texts]
    links = "".join(f'<a href="{url}">{url[:30]}</a> ' for url in site.urls)
    paragraphs = "".join(f"<p>{text} is the text of a paragraph.</p>" for text in escaped)
    elements = "".join(texts[:6])
    return (
        f"<!doctype html><html lang=en><head><title>{escaped[0]}{escaped[1]}</title>"
        f'<meta name="description" content="{escaped[1]}"></head><body><h1>{escaped[2]}</h1>'
        f'{paragraphs}{links}<a id="away" href="{site.listener}/click">away</a>'
        f'<form action="{site.listener}/form"><button>send</button></form>{elements}</body></html>'
    ).encode()


def _handler(site: HostileSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append(self.path)
            if self.path == "/robots.txt":
                body, kind = b"User-agent: *\nDisallow: /<script>alert(1)</script>\n", "text/plain"
            else:
                body, kind = _page(site), "text/html; charset=utf-8"
            failed = "fail" in self.path
            reason = attacks(site.listener)[0] if failed else "OK"
            self.send_response(500 if failed else 200, reason)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for number, text in enumerate(attacks(site.listener)[:4]):
                self.send_header(f"X-Attack-{number}", text)
            self.send_header("Link", f"<{site.listener}/header>; rel=preload; as=script")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


@contextmanager
def hostile_site(listener: str) -> Iterator[HostileSite]:
    """Serve the site within the block."""
    site = HostileSite("", listener)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    site.address = f"http://127.0.0.1:{server.server_port}"
    site.urls = tuple(
        f"{site.address}/{name}?q={quote(text, safe=chars)}"
        for text in attacks(listener)[:8]
        for name, chars in (("page", ""), ("fail", "'()"))
    )
    with serving_in_thread(server):
        yield site


@contextmanager
def serving_in_thread(server: ThreadingHTTPServer) -> Iterator[None]:
    """Answer requests within the block."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def listening(address: str) -> Iterator[list[str]]:
    """Listen at *address* within the block, and list the peers that connect."""
    connections: list[str] = []

    class Listener(ThreadingHTTPServer):
        def get_request(self):  # type: ignore[no-untyped-def]
            request, peer = super().get_request()
            connections.append(str(peer))
            return request, peer

    server = Listener(("127.0.0.1", int(address.rpartition(":")[2])), BaseHTTPRequestHandler)
    with serving_in_thread(server):
        yield connections
