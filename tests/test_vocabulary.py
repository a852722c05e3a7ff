"""The vocabulary defines each word once."""

import re
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "vocabulary.md"


def test_no_word_is_defined_twice() -> None:
    words = Counter(re.findall(r"\*\*([^*]+)\*\*", PAGE.read_text()))
    assert len(words) > 50
    assert [word for word, count in words.items() if count > 1] == []
