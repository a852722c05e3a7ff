"""Folding of white space, as browsers display all but preformatted text.

Most texts are folded already. Checking that takes a third of the time of folding.
"""


def fold_whitespace(text: str) -> str:
    """Return *text* stripped, with each run of white space replaced by a space."""
    # The only printable white space is the space.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())
