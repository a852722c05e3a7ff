"""The world as a test holds it: a process of its own, its addresses, its truth and its record."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cached_property
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self

from .atlas import Atlas
from .record import LOOKUPS, REQUESTS, Request, read_lines, read_open, read_requests
from .server import PING
from .truth import Scope, Truth, truth_of
from .world import World

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
"""Seconds for the process to answer or end; only a broken one needs them."""


class SynthWeb:
    """A running world. The record lies in `record`, by default in a folder that goes with it."""

    def __init__(self, world: World, record: Path | None = None) -> None:
        self.world = world
        self._folder = None if record else tempfile.TemporaryDirectory(prefix="synthweb-")
        self.record = record or Path(self._folder.name if self._folder else "")
        self._process: subprocess.Popen[str] | None = None

    @classmethod
    def ended(cls, world: World, record: Path, port: int, seeds: list[str]) -> Self:
        """Return a world whose process is gone: its truth, and what it recorded."""
        web = cls(world, record)
        web.port, web.seeds, web.nameserver = port, seeds, ""
        return web

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.synthweb", f"--record={self.record.resolve()}"]
        self._process = subprocess.Popen(
            [*command, *self.world.flags()],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        ready = json.loads(self._process.stdout.readline())
        self.port: int = ready["http"]
        self.nameserver = f"127.0.0.1:{ready['dns']}"
        self.seeds: list[str] = ready["seeds"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._folder:
            self._folder.cleanup()

    def stop(self) -> None:
        """Ends the server; what it recorded can still be read until the `with` ends."""
        if self._process:
            self._process.terminate()
            self._process.communicate(timeout=PATIENCE)

    @cached_property
    def atlas(self) -> Atlas:
        """The world without its process: names, pages, conditions."""
        return Atlas(self.world, self.port)

    @cached_property
    def truth(self) -> Truth:
        """For a crawl of everything from the seeds."""
        return self.truth_for()

    def truth_for(self, scope: Scope | None = None, seeds: list[str] | None = None) -> Truth:
        return truth_of(self.atlas, self.seeds if seeds is None else seeds, scope)

    def requests(self) -> list[Request]:
        """All requests that have ended, in the order in which they began."""
        self._settle()
        return read_requests(self.record / REQUESTS)

    def under_way(self) -> list[str]:
        """The URLs of all requests that have begun and not ended, as they began."""
        self._settle()
        return read_open(self.record)

    def lookups(self) -> Counter[str]:
        """How often each name was looked up, as whatever type."""
        return Counter(line["name"] for line in read_lines(self.record / LOOKUPS))

    def _settle(self) -> None:
        """A client may see an answer's last byte before the server has written its line."""
        if self._process and self._process.poll() is None:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            connection.request("GET", "/", headers={"Host": PING})
            connection.getresponse().read()
            connection.close()
