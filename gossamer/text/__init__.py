"""Comparison of the texts of a page at two visits, without storing the texts.

The digest of the visible text shows whether a text has changed. `sketch` estimates how much, from
64 bytes per version. `volatile` ignores meaningless changes such as a date in the footer: it learns
from the versions of a page which of its `blocks` differ at every visit, and finds the blocks that
differ between two versions, although neither is stored. `ages` ignores labels such as "3 minutes
ago", of which a list has more than `volatile` can learn.

The modes of extracting a text and the parts of a page are here because the children of the parser
do not load the settings.
"""

from typing import Literal, get_args

TextMode = Literal["main", "rust", "fast", "off"]
"""The main text, a main text found in less time by other extractors, or no main text."""
PageField = Literal["forms", "headings", "language", "metadata", "requisites"]
PAGE_FIELDS: tuple[PageField, ...] = get_args(PageField)
"""Parts of a page that most crawls only publish (`gossamer.services.parser.parts`)."""
