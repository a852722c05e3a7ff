"""A web for a test: a process of its own, its addresses, its truth and its record."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cached_property
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from .atlas import Atlas
from .record import LOOKUPS, REQUESTS, Request, read_lines, read_requests, read_running
from .server import PING, Served
from .truth import Scope, Truth, truth_of
from .world import World

ROOT = Path(__file__).resolve().parents[2]
PROCESS_TIMEOUT = 30.0
"""Seconds for the process to answer or end; only a broken one needs them."""


class Web(Protocol):
    """The numbers that determine a web: a dataclass, which another process rebuilds."""

    def open(self, port: int) -> Served:
        """Return the web at an HTTP port."""


AnyWeb = TypeVar("AnyWeb", bound=Web)


def command_of(web: Web) -> list[str]:
    """Return the command that serves *web*, without its options."""
    name = f"{type(web).__module__}:{type(web).__qualname__}"
    return ["-m", "tests.synthweb", name, json.dumps(vars(web))]


class RunningWeb(Generic[AnyWeb]):
    """A web that a process of its own serves. The record is in the folder `record`, by default a
    temporary one."""

    port: int
    nameserver: str
    seeds: list[str]

    def __init__(self, web: AnyWeb, record: Path | None = None) -> None:
        self.web = web
        self._folder = None if record else tempfile.TemporaryDirectory(prefix="synthweb-")
        self.record = record or Path(self._folder.name if self._folder else "")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        record = f"--record={self.record.resolve()}"
        self._process = subprocess.Popen(
            [sys.executable, *command_of(self.web), record],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        ready = json.loads(self._process.stdout.readline())
        self.port = ready["http"]
        self.nameserver = f"127.0.0.1:{ready['dns']}"
        self.seeds = ready["seeds"]
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
        """Stop the server. Its record can be read until the end of the `with` block."""
        if self._process:
            self._process.terminate()
            self._process.communicate(timeout=PROCESS_TIMEOUT)

    def requests(self) -> list[Request]:
        """Return all finished requests, in the order in which they started."""
        self._settle()
        return read_requests(self.record / REQUESTS)

    def under_way(self) -> list[str]:
        """Return the URLs of all running requests, in the order in which they started."""
        self._settle()
        return read_running(self.record)

    def lookups(self) -> Counter[str]:
        """Return the number of lookups of each name, of any type."""
        return Counter(line["name"] for line in read_lines(self.record / LOOKUPS))

    def _settle(self) -> None:
        """Wait for the record: a client may read the end of an answer before the server has written
        its line."""
        if self._process and self._process.poll() is None:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=PROCESS_TIMEOUT)
            connection.request("GET", "/", headers={"Host": PING})
            connection.getresponse().read()
            connection.close()


class SynthWeb(RunningWeb[World]):
    """A running world."""

    @property
    def world(self) -> World:
        return self.web

    @classmethod
    def of_record(cls, world: World, record: Path, port: int, seeds: list[str]) -> Self:
        """Return a world whose process has ended: its truth and its record."""
        web = cls(world, record)
        web.port, web.seeds, web.nameserver = port, seeds, ""
        return web

    @cached_property
    def atlas(self) -> Atlas:
        """Return the world without its process: names, pages, conditions."""
        return Atlas(self.world, self.port)

    @cached_property
    def truth(self) -> Truth:
        """Return the truth for a crawl of everything from the seeds."""
        return self.truth_for()

    def truth_for(self, scope: Scope | None = None, seeds: list[str] | None = None) -> Truth:
        return truth_of(self.atlas, self.seeds if seeds is None else seeds, scope)

    def is_complete(self) -> bool:
        """Return whether all required URLs were requested."""
        return self.truth.required <= {request.url for request in self.requests()}
