"""Reads a usage file by its URL."""

from gossamer.web.usage.files import Malformed, ReadFile, is_tdmrep
from gossamer.web.usage.rsl import read_rsl
from gossamer.web.usage.tdmrep import read_tdmrep


def read_usage_file(body: bytes, url: str, host: str, is_cut: bool = False) -> ReadFile:
    """Return what was read about pages of *host* in a decoded file at *url*.

    *is_cut*: its end is missing. What was not read counts as reserved. A file without any sign of
    its format says nothing.
    """
    try:
        read = read_tdmrep(body) if is_tdmrep(url) else read_rsl(body, url, host)
    except Malformed as error:
        read = ReadFile((), str(error))
    if is_cut:
        fault = f"it was cut after {len(body)} bytes" + (f"; {read.fault}" if read.fault else "")
        return read._replace(fault=fault)
    return read
