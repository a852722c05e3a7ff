"""The documentation's site: it builds without a warning, and needs no other server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?([^\"\s>]+)|<link\b([^>]*)>")
FETCHED_LINKS = ("stylesheet", "preload", "preconnect", "icon")


def loaded_resources(html: str) -> list[str]:
    """Return the URLs that a browser requests in order to show *html*."""
    found = []
    for source, link in LOADED.findall(html):
        if source:
            found.append(source)
        elif any(word in link for word in FETCHED_LINKS):
            found += re.findall(r"href=\"?([^\"\s>]+)", link)
    return found


@pytest.mark.slow
def test_site_builds_strictly_and_loads_nothing_from_other_servers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 50
    resources = {url for page in pages for url in loaded_resources(page.read_text())}
    assert resources
    assert [url for url in sorted(resources) if re.match(r"(https?:)?//", url)] == []
