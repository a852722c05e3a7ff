"""All that a reader sees of a document, line by line.

What takes the main text's place where there is none to speak of: in threads whose posts are marked
as comments, on contact pages, in galleries, and where nesting is too deep for those who look for
it. Lines end where a browser would end them; cells of a table stand side by side.
"""

from selectolax.lexbor import LexborHTMLParser

from gossamer.text.blocks import SEPARATOR

UNSEEN = ["script", "style", "noscript", "template", "title"]
"""Elements whose text nobody sees."""
_blocks = """
address article aside blockquote body br caption center dd details dialog div dl dt fieldset
figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol option p pre
search section summary table tr ul
"""
BLOCKS = ",".join(_blocks.split())
"""Elements on lines of their own."""
CELLS = "td, th, button, select, textarea"
POOR = 10
"""Characters that the square of a main text's must be to each visible one."""


def visible_text(html: str) -> str:
    """Return what a reader sees of *html*; "" if there are no words."""
    tree = LexborHTMLParser(html)
    tree.strip_tags(UNSEEN, recursive=True)
    for node in tree.css(BLOCKS):
        node.insert_before(SEPARATOR)
        node.insert_after(SEPARATOR)
    for node in tree.css(CELLS):
        node.insert_after(" ")
    text = tree.body.text() if tree.body else ""
    lines = (" ".join(line.split()) for line in text.split(SEPARATOR))
    return "\n".join(line for line in lines if line)


def is_poor(main: str, visible: str) -> bool:
    """Return whether *main* is too little of what is *visible* to stand for it.

    It is when it is short and a small part: "Logo" on a contact page. Of 181 real articles the
    poorest main text has 464 characters of 12,083; its square is 18 times that.
    """
    return len(main) ** 2 < POOR * len(visible)
