"""The first ten minutes of a newcomer: the commands of the page print what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import free_ports, listens
from tests.support.waiting import HANG_TIMEOUT, until
from tests.system.crawl import GOSSAMER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ten-minutes.md").read_text()
INSTALLED = {
    "uvx gossamer": GOSSAMER,
    "uv run --with gossamer --with pandas python": sys.executable,
}
"""How the page starts the program → how the test does, without a registry."""
ANY_LINES = "…"
NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def without_numbers(text: str) -> list[str]:
    """Return the lines of a text whose times and sizes may differ."""
    return [NUMBER.sub("#", line) for line in text.splitlines()]


def matches(printed: list[str], stated: list[str]) -> bool:
    """Return whether the printed lines are the stated ones, in which … is any number of lines."""
    lines = (r"(?:.*\n)*?" if one == ANY_LINES else f"{re.escape(one)}\\n" for one in stated)
    return bool(re.fullmatch("".join(lines), "".join(f"{line}\n" for line in printed)))


@pytest.mark.slow
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    port = str(free_ports(1))
    environment = {**os.environ, "PATH": f"{Path(GOSSAMER).parent}:{os.environ['PATH']}"}
    (program,) = blocks("python")
    (prepare,) = blocks("sh")
    shop = tmp_path / "first-shop"
    # The shell that starts the server ends; the server is in its group.
    shell = subprocess.Popen(
        ["bash", "-c", f"{prepare.replace('8123', port)}\nwait"],
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )
    try:
        until(lambda: listens(int(port)), "the shop")
        (shop / "shop.py").write_text(program)
        for block in blocks("console"):
            command, *stated = block.replace("8123", port).splitlines()
            for documented, installed in INSTALLED.items():
                command = command.replace(documented, installed)
            done = subprocess.run(
                ["bash", "-c", f"{command.removeprefix('$ ')} 2>&1"],
                cwd=shop,
                env=environment,
                capture_output=True,
                text=True,
                timeout=HANG_TIMEOUT,
            )
            expected = without_numbers("\n".join(stated))
            assert matches(without_numbers(done.stdout), expected), done.stdout
            assert done.returncode == 0
    finally:
        os.killpg(shell.pid, 15)
        shell.wait(HANG_TIMEOUT)
