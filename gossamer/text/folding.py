"""White space folded: what a browser shows of it, but for preformatted text.

Most texts that are folded have nothing to fold, and to see that takes a third of the time.
"""


def fold_whitespace(text: str) -> str:
    """Return *text* with every run of white space as one space, and none around it."""
    # Of white space only the space is printable.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())
