"""Whether a page shows nothing to those who do not run its scripts."""

import re

from selectolax.lexbor import LexborHTMLParser

FEW = 300
"""Characters: with more of them a page says something, whatever its scripts add."""
ROOTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #react-root, #app-root, #q-app, app-root, "
    "app, [ng-app], [ng-version], [data-reactroot], [data-server-rendered]"
)
"""Where the usual libraries put what they make."""

_scripts = "script:not([type='application/ld+json'])"
_asks = re.compile(r"java\s?script", re.IGNORECASE)
_waits = re.compile(
    r"\W*(?:(?:loading|please wait|redirecting|one moment|checking your browser)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
_shows = "a[href], area[href], frame, iframe, img, form, video, object, embed"


def needs_rendering(html: str, visible: str) -> bool:
    """Return whether scripts seem to make the text of the page *html*, whose *visible* text is at
    hand.

    Few words alone say nothing. With scripts they do where a place for what these make is empty,
    where those without scripts are told to have them, or where there is nothing else to see.
    """
    if len(visible) >= FEW:
        return False
    # Once more, since what is looked for here is not in the tree any more. Such pages are small.
    tree = LexborHTMLParser(html)
    if tree.css_first(_scripts) is None:
        return False
    if any(_asks.search(node.text()) for node in tree.css("noscript")):
        return True
    tree.strip_tags(["script", "style", "noscript", "template"], recursive=True)
    if any(not node.text().strip() for node in tree.css(ROOTS)):
        return True
    return bool(_waits.fullmatch(visible)) and tree.css_first(_shows) is None
