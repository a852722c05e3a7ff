"""HTML of honest pages, and the lists that lead to them."""

from collections.abc import Iterable, Sequence
from html import escape

from . import prose

Pages = dict[str, bytes]
"""URL → HTML. URLs in both have the port `PORT`, which the server replaces."""
Items = dict[str, tuple[str, str]]
"""Path → title and content of a page."""
PORT = ":PORT/"


def url(host: str, path: str = "/") -> str:
    return f"http://{host}{PORT}{path[1:]}"


def p(*texts: str) -> str:
    return "".join(f"<p>{escape(text)}</p>\n" for text in texts)


def prose_of(words: int, *key: object) -> str:
    """Return paragraphs of about sixty words."""
    return p(*(prose.text(min(60, words), *key, n) for n in range(-(-words // 60))))


def links(to: Iterable[tuple[str, str]]) -> str:
    """Return a list of links, each a URL with its text."""
    items = (f'<li><a href="{escape(url)}">{escape(text)}</a></li>' for url, text in to)
    return f"<ul>{''.join(items)}</ul>\n"


def table(rows: Iterable[Sequence[object]]) -> str:
    cells = ("".join(f"<td>{escape(str(it))}</td>" for it in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>\n"


def html(title: str, content: str, owner: str, menu: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return a page of the site that *owner* names."""
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        f"<body>\n<header><p>{escape(owner)}</p><nav>{links([('/', 'Home'), *menu])}</nav></header>"
        f"\n<main><h1>{escape(title)}</h1>\n{content}</main>\n"
        f"<footer><p>Published by {escape(owner)}. All rights reserved.</p></footer></body></html>"
    ).encode()


def site(host: str, items: Items, intro: str = "", owner: str = "", of_a_list: int = 25) -> Pages:
    """Return a site whose home page links to lists, whose pages link to the items. Neighbours link
    to each other. A few items are listed on the home page. *intro* is its text."""
    intro = intro or prose_of(60, host)
    owner = owner or f"The {prose.name(host)} office"
    titled = [(path, title) for path, (title, _) in items.items()]
    groups = [titled[at : at + of_a_list] for at in range(0, len(titled), of_a_list)]
    lists = {f"/list/{n}": group for n, group in enumerate(groups, 1)} if len(groups) > 1 else {}
    entries = [(path, f"Page {n}") for n, path in enumerate(lists, 1)] or titled
    pages = {url(host): html(owner, intro + links(entries), owner)}
    for n, (path, group) in enumerate(lists.items(), 1):
        pages[url(host, path)] = html(f"Page {n}", links(group), owner)
    for n, (path, (title, text)) in enumerate(items.items()):
        near = [titled[at] for at in (n - 1, n + 1) if 0 <= at < len(titled)]
        pages[url(host, path)] = html(title, text + links(near), owner)
    return pages
