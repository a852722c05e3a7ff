"""Hooks of the documentation's site: documents outside of `docs/`, and links to them."""

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
ADDED_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "schemas/README.md": "topics.md",
}
"""Document of the repository → its page on the site."""
PAGES = {**ADDED_PAGES, "README.md": "index.md"}
MERMAID = ROOT / ".mermaid" / "mermaid.min.js"
MERMAID_PAGE = "assets/mermaid.min.js"
_link = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the documents outside of `docs/` as pages, and Mermaid if `scripts/docs` fetched it."""
    if MERMAID.exists():
        files.append(File.generated(config, MERMAID_PAGE, content=MERMAID.read_bytes()))
        config.extra_javascript = [MERMAID_PAGE, *config.extra_javascript]
    for source, page in ADDED_PAGES.items():
        markdown = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=with_site_links(markdown, source, page)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links of a page below `docs/` to the pages of the site."""
    name = page.file.src_uri
    if name in ADDED_PAGES.values():
        return markdown
    return with_site_links(markdown, f"docs/{name}", name)


def with_site_links(markdown: str, source: str, page: str) -> str:
    """Return the *markdown* of the document *source* with links that are right on *page*.

    Links to files that the site does not contain are replaced by the path of the file.
    """

    def site_link(link: re.Match[str]) -> str:
        text, path, anchor = link[1], normpath(join(dirname(source), link[2])), link[3] or ""
        if path in PAGES or path.startswith("docs/"):
            target = PAGES.get(path) or path.removeprefix("docs/")
            return f"[{text}]({relpath(target, dirname(page) or '.')}{anchor})"
        return text if text == f"`{path}`" else f"{text} (`{path}`)"

    return _link.sub(site_link, markdown)
