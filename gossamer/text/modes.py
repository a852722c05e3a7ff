"""Modes of text extraction.

Not in the settings, because the children of the parser do not load the settings.
"""

from typing import Literal

TextMode = Literal["main", "fast", "off"]
"""The main text, a main text found in less time, or no main text."""
