"""Hooks of the documentation's site (`mkdocs.yml`)."""

import re
from pathlib import Path
from typing import Any

_link_upwards = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#]*)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Replace links to files outside of `docs/` by their paths: the site contains `docs/` alone."""
    docs = Path(config["docs_dir"]).resolve()
    folder = Path(page.file.abs_src_path).resolve().parent

    def without_link(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        path = f"`{target.relative_to(docs.parent)}`"
        return link[1] if link[1] == path else f"{link[1]} ({path})"

    return _link_upwards.sub(without_link, markdown)
