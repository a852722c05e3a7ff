"""A page with its links by position, and its HTML."""

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from tests.synthweb.answers import HTML, Answer


class Link(NamedTuple):
    """A link as a page writes it."""

    href: str
    text: str


@dataclass
class Page:
    """The content of a page. `lists` are links in the main content, which `paragraphs` precede."""

    title: str
    paragraphs: list[str]
    menu: list[Link] = field(default_factory=list)
    lists: list[Link] = field(default_factory=list)
    aside: list[Link] = field(default_factory=list)
    footer: list[Link] = field(default_factory=list)
    head: str = ""
    """Further elements of the head, as markup."""

    def html(self) -> bytes:
        prose = "\n".join(f"<p>{escape(text)}</p>" for text in self.paragraphs)
        heading = escape(self.title)
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
            f"{self.head}</head>\n<body>\n<header><nav>{_list(self.menu)}</nav></header>\n"
            f"<main><article><h1>{heading}</h1>\n{prose}\n</article>{_list(self.lists)}</main>\n"
            f"<aside>{_list(self.aside)}</aside>\n<footer>{_list(self.footer)}</footer>\n"
            "</body></html>\n"
        ).encode()

    def answer(self, status: int = 200, manner: str = "whole") -> Answer:
        return Answer(status, self.html(), {"Content-Type": HTML}, manner)


def _list(links: list[Link]) -> str:
    if not links:
        return ""
    items = (
        f'<li><a href="{escape(link.href, quote=True)}">{escape(link.text)}</a></li>'
        for link in links
    )
    return f"<ul>{''.join(items)}</ul>"
