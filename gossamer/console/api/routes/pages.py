"""The files of the web console. They are the same for everybody, so they need no token."""

import re
from hashlib import sha256
from importlib.resources import files
from typing import Any

from litestar import Request, Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from gossamer.console.api.gate import OPEN, ROLE

FOLDER = files("gossamer.console") / "pages"
TYPES = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
"""Extension → media type, to which the charset is added."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""Nothing comes from other servers, and no text can become a script."""
_name = re.compile(rf"[a-z0-9-]+\.(?P<extension>{'|'.join(TYPES)})")


@get("/", opt={ROLE: OPEN}, include_in_schema=False)
async def get_index(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the page of the console."""
    return _file(request, "index.html")


@get("/{name:str}", opt={ROLE: OPEN}, include_in_schema=False)
async def get_file(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
    """Return a file of the console."""
    return _file(request, name)


def _file(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    found, path = _name.fullmatch(name), FOLDER / name
    if found is None or not path.is_file():
        raise NotFoundException(f"the console has no file {name[:100]!r}")
    content = path.read_bytes()
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    return Response(content, media_type=TYPES[found["extension"]], headers=headers)
