"""The console as an operator starts it, and its pages in Chromium."""

import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.support.commands import clean_environment
from tests.support.waiting import HANG_TIMEOUT, until

CHROMIUM = shutil.which("chromium") or ""
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
"""axe-core, as its package has it."""
MODES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
"""Name → options of a browser context."""
MODE_CASES = [
    pytest.param(mode, marks=[] if mode == "light" else pytest.mark.long) for mode in MODES
]
"""A test of all modes uses one of them by day."""
CONSOLE_COMMAND = [sys.executable, "-m", "gossamer.console.cli.main", "console"]
PATIENCE = 1000 * HANG_TIMEOUT
"""Milliseconds until an element must have appeared; a busy machine needs some of them."""


def free_port() -> int:
    """Return a port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@dataclass(frozen=True)
class Console:
    """A running console."""

    address: str
    token: str
    data: Path

    def route(self, route: str) -> str:
        """Return the address of a page, such as `hosts` or `url?url=…`."""
        return f"{self.address}/#/{route}"


@contextmanager
def running_console(
    data: Path, output: Path, token: str = "", **settings: str
) -> Iterator[Console]:
    """Run `gossamer console` for the folder *data* within the block, with *settings* as variables
    of its environment. If they name a file of tokens, *token* is one of them."""
    port = free_port()
    command = [*CONSOLE_COMMAND, "--port", str(port), "--data", str(data)]
    environment = clean_environment(PYTHONUNBUFFERED="1", **settings)
    with output.open("w") as written:
        process = subprocess.Popen(
            command,
            stdout=written,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    try:

        def answers() -> bool:
            assert process.poll() is None, output.read_text()
            with socket.socket() as tried:
                return (
                    tried.connect_ex(("127.0.0.1", port)) == 0
                    and ("API:" if token else "#token=") in output.read_text()
                )

        until(answers, "the console answers")
        token = token or output.read_text().partition("#token=")[2].split()[0]
        yield Console(f"http://127.0.0.1:{port}", token, data)
    finally:
        process.terminate()
        process.wait(30)


@dataclass
class Tab:
    """A page of the browser that is logged in, with everything that went wrong on it."""

    page: Page
    console: Console
    faults: list[str] = field(default_factory=list)
    """Messages of errors, and requests to other servers."""

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", lambda request: self._check(request.url))

    def _check(self, url: str) -> None:
        if not url.startswith((self.console.address, "blob:", "data:")):
            self.faults.append(f"request: {url}")

    async def log_in(self) -> None:
        """Open the link that the command prints."""
        await self.page.goto(f"{self.console.address}/#token={self.console.token}")
        await self.page.wait_for_url("**/#/overview")
        await self.settle()

    async def open(self, route: str) -> None:
        """Open a page, or open it again, and wait for its data."""
        address = self.console.route(route)
        # To go to the address at which the browser is would not load the page again.
        await (self.page.reload() if self.page.url == address else self.page.goto(address))
        await self.settle()

    async def settle(self) -> None:
        """Wait until the page and its sections have their data."""
        await self.page.wait_for_selector("main:not([aria-busy]) h1")
        await self.page.wait_for_function(
            "() => ![...document.querySelectorAll('main .hint')]"
            ".some((one) => one.textContent === 'Loading…')"
        )

    async def text(self) -> str:
        """Return the text of the page."""
        return await self.page.inner_text("main")

    async def violations(self) -> list[str]:
        """Return the problems that axe finds, with the elements."""
        await self.page.evaluate(AXE)
        found = await self.page.evaluate("axe.run()")
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
            for one in found["violations"]
        ]


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run Debian's Chromium within the block."""
    async with async_playwright() as playwright:
        # The sandbox of Chromium needs a user other than root.
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def tab(
    browser: Browser, console: Console, mode: str = "light", bypass_csp: bool = False
) -> AsyncIterator[Tab]:
    """Open a tab that is logged in, within the block.

    axe needs *bypass_csp*, because a script that is added to a page breaks its policy.
    """
    context = await browser.new_context(**MODES[mode], bypass_csp=bypass_csp)
    try:
        opened = Tab(await context.new_page(), console)
        await opened.log_in()
        yield opened
    finally:
        await context.close()
