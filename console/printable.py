"""What came from the Web, made fit for a terminal: wherever a person sees it, it passes here."""


def printable(text: str, most: int = 150) -> str:
    """Return *text* with nothing in it that a terminal would obey, cut to *most* characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])
