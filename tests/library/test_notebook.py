"""The recipe for notebooks, as a notebook: its blocks are run as cells, over shops on loopback."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nbformat
import pandas
import pytest
from nbclient import NotebookClient

from tests.support.waiting import HANG_TIMEOUT

RECIPE = Path(__file__).resolve().parents[2] / "docs" / "recipes" / "notebook.md"
CELLS = re.findall(r"```i?python\n(.*?)```", RECIPE.read_text(), re.DOTALL)
SETTINGS = {
    "GOSSAMER_FETCHER__ALLOW_NETWORKS": '["127.0.0.0/8"]',
    "GOSSAMER_FETCHER__USUAL_SITEMAPS": "never",
    "GOSSAMER_FRONTIER__DELAY": "0.02",
}
GOODS = 8


def address(shop: int) -> str:
    return f"127.0.{30 + shop // 250}.{1 + shop % 250}"


def shop_page(host: str, path: str) -> bytes | None:
    """Return a page of the shop at an address: a home page with links, and a page for each of the
    goods."""
    if path == "/":
        links = "".join(
            f"<li><a href=/goods/{number}>{host} {number}</a>" for number in range(GOODS)
        )
        return f"<title>Shop {host}</title><ul>{links}</ul>".encode()
    number = path.removeprefix("/goods/")
    if not number.isdecimal() or int(number) >= GOODS:
        return None
    words = (
        f"Lamp number {number} of the shop {host} is made of brass by hand, and {host} sells it."
    )
    return f"<title>{host} {number}</title><p>{words}<p class=price>{number}.50 EUR".encode()


@contextmanager
def serving_shops() -> Iterator[int]:
    """Serve all addresses of the loopback network; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = shop_page(self.headers["Host"].partition(":")[0], self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("0.0.0.0", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Any]:
    """Return a function that runs cells in a new kernel, in the test's folder."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")

    def run(cells: list[str]) -> Any:
        v4: Any = nbformat.v4
        notebook = v4.new_notebook(cells=[*map(v4.new_code_cell, cells)])
        where = {"metadata": {"path": str(tmp_path)}}
        client = NotebookClient(
            notebook, timeout=int(HANG_TIMEOUT), kernel_name="python3", resources=where
        )
        return client.execute()

    return run


def printed(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.slow
@pytest.mark.parametrize("shops", [3, pytest.param(200, marks=pytest.mark.long)])
def test_notebook_of_the_recipe_crawls_shops_into_a_table(
    shops: int, tmp_path: Path, execute: Callable[[list[str]], Any]
) -> None:
    with serving_shops() as port:
        homes = [f"http://{address(shop)}:{port}/" for shop in range(shops)]
        (tmp_path / "shops.txt").write_text("\n".join(homes))
        cells = execute(CELLS).cells
    expected = {f"{home}goods/{number}" for home in homes for number in range(GOODS)}
    table = pandas.read_parquet(tmp_path / "goods.parquet")
    assert {*table.url} == expected
    assert {*table.price} == {f"{number}.50 EUR" for number in range(GOODS)}
    progress = [one for one in cells[1].outputs if one.output_type == "display_data"]
    assert len(progress) == 1 and progress[0].data["text/plain"].startswith("Ended after")
    assert f"{shops * (GOODS + 1)} pages of" in printed(cells[4])
    assert printed(cells[5]).startswith("Fetched ")


@pytest.mark.long
def test_restarted_kernel_continues_and_sees_all_pages(
    tmp_path: Path, execute: Callable[[list[str]], Any]
) -> None:
    killed = "import os, signal\nfor page in crawl.run():\n    os.kill(os.getpid(), signal.SIGKILL)"
    with serving_shops() as port:
        homes = [f"http://{address(shop)}:{port}/" for shop in range(2)]
        (tmp_path / "shops.txt").write_text("\n".join(homes))
        rules, crawl = CELLS[0], CELLS[1].partition("for page")[0]
        with pytest.raises(Exception, match=r"(?i)kernel died"):
            execute([rules, crawl, killed])
        execute(CELLS[1:3])
    table = pandas.read_parquet(tmp_path / "goods.parquet")
    assert len(table) == 2 * GOODS
