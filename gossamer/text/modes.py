"""Which text of a page is kept; apart from settings, which no process that reads pages loads."""

from typing import Literal

TextMode = Literal["main", "fast", "off"]
"""The main text, the same found in less time, or none."""
