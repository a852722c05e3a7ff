"""Reads a usage file by its URL."""

from gossamer.web.usage.files import FileStatement, is_tdmrep
from gossamer.web.usage.rsl import read_rsl
from gossamer.web.usage.tdmrep import read_tdmrep


def read_usage_file(body: bytes, url: str, host: str) -> tuple[FileStatement, ...]:
    """Return the statements about pages of *host* in a decoded file at *url*.

    Raise Malformed if the file cannot be read.
    """
    return read_tdmrep(body) if is_tdmrep(url) else read_rsl(body, url, host)
