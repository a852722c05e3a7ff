"""A crawl of hosts that public reports describe: exactly what their authors meant is requested."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.reports.situations import SITUATIONS
from tests.reports.web import ReportedWeb
from tests.support.once import once
from tests.synthweb import RunningWeb
from tests.synthweb.measure import PROBE
from tests.synthweb.robots import ROBOTS

from .crawl import WebCrawl

DELAY = 0.02
USUAL_SITEMAP = "/sitemap.xml"


@pytest.fixture(scope="module")
def requested(shared_folder: Path) -> dict[str, list[str]]:
    """Return the requested targets of each host, of one crawl of all."""

    def crawl() -> dict[str, list[str]]:
        with TemporaryDirectory(prefix="reports-") as name, RunningWeb(ReportedWeb()) as web:
            done = WebCrawl(web, Path(name) / "data", DELAY).run("--revisit", "none")
            assert done.code == 0, done
            targets: dict[str, list[str]] = {host: [] for host in SITUATIONS}
            for request in web.requests():
                targets[request.host].append(request.path)
            return targets

    found: dict[str, list[str]] = once(shared_folder / "reports.json", crawl)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("host", SITUATIONS)
def test_crawl_requests_what_the_author_meant(host: str, requested: dict[str, list[str]]) -> None:
    asked = {it for it in requested[host] if not PROBE.fullmatch(it)} - {ROBOTS, USUAL_SITEMAP}
    assert asked == SITUATIONS[host].wanted, SITUATIONS[host].reports
