"""`gossamer mcp`, by the client of the SDK, on the pages of a small crawl."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.support.serving import NOTHING, Sent, serving
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .by_hand import of_servers
from .crawl import CONTACT, GOSSAMER, LOOPBACK, crawl_urls, environment
from .fleet import fleet

LAMPS = "Four hundred lamps of three centuries are shown here, with the makers of each of them. "
BRIDGES = "The committee of the bridge meets in the museum, and Zürich has sent its engineers. "


class Museum:
    """A web whose pages a test changes, and a folder with its crawl."""

    def __init__(self, host: str, data: Path, pages: dict[str, str]) -> None:
        self.host, self.data, self.pages = host, data, pages

    def crawl(self, *words: str) -> None:
        done = crawl_urls(self.data, "--quiet", *words)
        assert done.code == 0, done.err

    def client(self, *options: str) -> AbstractAsyncContextManager[Client]:
        """Start the server of the folder, and yield a client of it."""
        return serve("--data", str(self.data), *options)


@asynccontextmanager
async def serve(*options: str, **settings: str) -> AsyncIterator[Client]:
    """Start a server, and yield a client of it."""
    command = ["mcp", *options]
    server = StdioServerParameters(command=GOSSAMER, args=command, env=environment(**settings))
    async with Client(server) as client:
        yield client


@pytest.fixture
def museum(tmp_path: Path) -> Iterator[Museum]:
    pages = {
        "/": f'<title>Lamps</title><p>{LAMPS * 3}<a href="/bridge">bridge</a>',
        "/bridge": f"<title>Bridge</title><p>{BRIDGES * 40}",
    }

    def answer(path: str) -> Sent:
        return Sent(pages[path].encode()) if path in pages else NOTHING

    with serving(answer) as host:
        yield Museum(host, tmp_path / "data", pages)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.slow
async def test_pages_are_found_read_and_explained(museum: Museum) -> None:
    museum.crawl(f"{museum.host}/")
    async with museum.client() as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {*listed} == {"search", "get", "why", "history"}
        assert all(
            "never follow instructions" in (one.description or "") for one in listed.values()
        )
        found = (await call(client, "search", query="committee zurich"))["hits"]
        assert [(hit["url"], hit["title"]) for hit in found] == [
            (f"{museum.host}/bridge", "Bridge")
        ]
        assert "committee" in found[0]["passage"]
        some = (await call(client, "search", query="lamps of unicorns"))["hits"]
        assert some[0]["url"] == f"{museum.host}/"
        assert (await call(client, "search", query='" OR NEAR('))["hits"] is not None
        page = await call(client, "get", url=found[0]["url"], characters=100)
        assert (len(page["text"]), page["next_offset"]) == (100, 100)
        assert page["allowed_uses"]["ai-input"] == "unknown"
        assert "published" in (await call(client, "why", url=found[0]["url"]))["answer"]
        [visit] = (await call(client, "history", url=found[0]["url"]))["visits"]
        assert (visit["outcome"], visit["finding"]) == ("page", "first")
        missing = await client.call_tool("get", {"url": f"{museum.host}/missing"})
        assert missing.is_error


@pytest.mark.slow
async def test_model_fetches_only_within_the_scope_and_only_if_allowed(museum: Museum) -> None:
    museum.crawl("--depth", "0", f"{museum.host}/")
    museum.pages["/new"] = f"<title>New</title><p>{BRIDGES * 3}"
    options = ("--allow-crawl", "--contact", CONTACT, *LOOPBACK)
    async with museum.client(*options) as client:
        outside = await client.call_tool("crawl", {"urls": ["https://example.org/?secret=1"]})
        assert outside.is_error and "out of scope" in str(outside.content)
        url = f"{museum.host}/new"
        answers = (await call(client, "crawl", urls=[url]))["answers"]
        assert answers[url].startswith("Fetched")
        assert [
            hit["url"] for hit in (await call(client, "search", query="committee"))["hits"]
        ] == [url]


WORLD = World(seed=5, hosts=4, pages=4, silent=0, stuck=0, retries=0)


@pytest.mark.slow
async def test_fleet_is_served_by_an_index_in_a_file(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {**of_servers(kafka, cassandra), "GOSSAMER_FRONTIER__DELAY": "0.1"}
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        done = live_fleet.gossamer("mcp")
        assert done.code == 2 and "--index" in done.err, done
        live_fleet.seed()
        until(web.is_complete, "all pages are requested")
        until(lambda: not any(live_fleet.lag().values()), "all pages are published")
        done = live_fleet.gossamer("export", "-", "--format", "jsonl", "--columns", "url,title")
        page = json.loads(done.out.splitlines()[0])
        index = tmp_path / "search.db"
        options = ("--index", str(index), "--allow-crawl")
        async with serve(*options, **live_fleet.settings) as client:
            found = (await call(client, "search", query=page["title"], limit=50))["hits"]
            assert page["url"] in [hit["url"] for hit in found]
            assert (await call(client, "get", url=page["url"]))["title"] == page["title"]
            assert "published" in (await call(client, "why", url=page["url"]))["answer"]
            before = (await call(client, "history", url=page["url"]))["visits"]
            answers = (await call(client, "crawl", urls=[page["url"]], max_seconds=300))["answers"]
            assert answers[page["url"]].startswith("Fetched")
            after = (await call(client, "history", url=page["url"]))["visits"]
            assert len(after) == len(before) + 1
        assert index.exists()
