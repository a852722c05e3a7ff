"""Novelty: the share of words that no earlier page had, in the newest passage of a page.

A calendar, or a list of goods in another order, has a text of its own on each page, and yet nothing
new. So a text is compared with all texts of its site, in runs of `RUN_WORDS` words, and not with
one other page. It is also compared with the last texts of all sites: doorway farms and wildcard
suffixes show one text with other names on sites without end. Runs that were seen are in two Bloom
filters (Bloom, *Space/time trade-offs in hash coding with allowable errors*, 1970): when the newer
one is a quarter full, it replaces the older one. An all new text of a large site has a novelty of
about 0.88, since filters err.

Crawls do not see each other's texts. The filters of a site belong to one crawl. All crawls share
the bits of the filters of all sites, which are larger, and each crawl has runs of its own there.

The filters are in memory only. A restart, or an instance that takes over, begins empty: the first
pages then seem new, as on a new site.
"""

from collections.abc import Iterable
from itertools import accumulate
from operator import sub
from zlib import crc32

from gossamer.cache import ENTRY_BYTES, ByteCache, RecentlyUsed
from gossamer.events import PageParsed, Verdict

RUN_WORDS = 4
MAX_RUNS = 600
"""Runs of a text that are compared: a sample of the whole text, of half of this size at least."""
MIN_RUNS = 15
"""Runs that a shorter text counts as: a few new words are not a new text."""
MIN_JUDGED_WORDS = 20
"""Words below which a text is not called known."""
PASSAGE_RUNS = 100
"""Runs of a passage, of which the sample of a long text has as many fewer. A post of forty words is
new, however long the texts around it are that each page of its site repeats."""
MAX_MEAN_WORD, RUN_CHARS = 15, 8
"""Mean length of words above which a text is compared by runs of characters: its script has no
spaces."""
MIN_BYTES, MAX_BYTES = 1 << 10, 1 << 14
"""Size of the first and of the largest filter of a site."""
COMMON_BYTES = 1 << 20
"""Size of a filter of all sites: the runs of some thousand pages."""
MIN_NOVELTY = 0.175
"""The novelty up to which a page counts as one without a new text: a visit that brings less parks a
part (`LOW_WORTH` of the frontier)."""
BITS_PER_RUN = 8
REMEMBERED_VISITS = 1000
"""Visits whose novelty is remembered, in case they are handled again."""
CACHE_BYTES, SITE_CACHE_BYTES = 64 << 20, 1 << 20
"""Size of the cache of filters, and of the part of one site."""


class SeenRuns:
    """The runs of words of the last pages, in filters of *size* bytes that grow to *limit*."""

    def __init__(self, size: int = MIN_BYTES, limit: int = MAX_BYTES) -> None:
        self._former, self._current, self._limit = bytearray(size), bytearray(size), limit
        self._added = 0

    @property
    def size(self) -> int:
        """The bytes of both filters."""
        return len(self._former) + len(self._current)

    def add(self, runs: list[int]) -> list[bool]:
        """Add *runs*; return of each whether it is new."""
        found = list[bool]()
        for run in runs:
            is_current = self._contains(self._current, run)
            found.append(not (is_current or self._contains(self._former, run)))
            if not is_current:
                self._set(run)
        return found

    def _contains(self, bits: bytearray, run: int) -> bool:
        first, second = _places(run, len(bits))
        return bool(bits[first >> 3] >> (first & 7) & bits[second >> 3] >> (second & 7) & 1)

    def _set(self, run: int) -> None:
        if self._added * BITS_PER_RUN >= 8 * len(self._current):
            self._former, size = self._current, min(2 * len(self._current), self._limit)
            self._current, self._added = bytearray(size), 0
        for place in _places(run, len(self._current)):
            self._current[place >> 3] |= 1 << (place & 7)
        self._added += 1


def _places(run: int, size: int) -> tuple[int, int]:
    bits = 8 * size
    return run % bits, (run * 0x9E3779B1 >> 16) % bits


def sample_runs(text: str) -> tuple[list[int], int]:
    """Return hashes of a sample of the runs of `RUN_WORDS` words of *text*, each once, and how many
    runs one of the sample stands for.

    The runs of a script without spaces have `RUN_CHARS` characters.

    Of a long text, the runs whose first word has a hash that a power of two divides are compared:
    wherever a passage stands, it has the same chosen runs, and a shorter text has them, too
    (Broder, *On the resemblance and containment of documents*, 1997, section 4).
    """
    words = text.split()
    chars = len(text) - text.count(" ")
    if chars > MAX_MEAN_WORD * len(words):
        units, length, glue = [*"".join(words)], RUN_CHARS, ""
    else:
        units, length, glue = words, RUN_WORDS, " "
    count = max(0, len(units) - length + 1)
    starts: Iterable[int] = range(count)
    step = 1
    if count > MAX_RUNS:
        step = 1 << (count // MAX_RUNS).bit_length()
        hashes = {unit: crc32(unit.encode(errors="replace")) for unit in {*units}}
        starts = [at for at in range(count) if hashes[units[at]] % step == 0][:MAX_RUNS]
    runs = (glue.join(units[at : at + length]) for at in starts)
    return [*dict.fromkeys(crc32(run.encode(errors="replace")) for run in runs)], step


def brings_no_text(page: PageParsed, verdict: Verdict, novelty: float | None) -> bool:
    """Return whether *page* has no new text: its text is that of another page, or hardly a word of
    it is new.

    A text of a few words is judged only if another page has nearly the same. A near duplicate whose
    novelty was not measured has none.
    """
    if verdict is Verdict.DUPLICATE:
        return True
    if novelty is not None and novelty > MIN_NOVELTY:
        return False
    if verdict is Verdict.NEAR_DUPLICATE:
        return True
    if novelty is None:
        return False
    return len((page.text or "").split(None, MIN_JUDGED_WORDS)) >= MIN_JUDGED_WORDS


class Novelty:
    """Measures the novelty of the pages of all sites."""

    def __init__(self) -> None:
        self._sites = ByteCache[tuple[str, str], SeenRuns](
            CACHE_BYTES, lambda seen: seen.size + 2 * ENTRY_BYTES, SITE_CACHE_BYTES
        )
        """Crawl and site → the runs of its last pages."""
        self._common = SeenRuns(COMMON_BYTES, COMMON_BYTES)
        self._measured = RecentlyUsed[str, float | None](REMEMBERED_VISITS)
        """Visit → the novelty of its page, for the last visits."""

    def measure(self, page: PageParsed) -> float | None:
        """Return the share of new words in the newest passage of *page*, from 0 to 1.

        None if the page has no text. A second visit finds its own words, but a visit that is
        handled again gets its share again.
        """
        if page.visit.id in self._measured:
            return self._measured[page.visit.id]
        self._measured[page.visit.id] = novelty = self._measure(page)
        return novelty

    def _measure(self, page: PageParsed) -> float | None:
        if not page.text:
            return None
        runs, step = sample_runs(page.text)
        key, salt = (page.crawl, page.site), crc32(page.crawl.encode())
        seen = self._sites.get(key) or SeenRuns()
        in_site, in_common = seen.add(runs), self._common.add([run ^ salt for run in runs])
        self._sites.put(key, seen, page.site)
        passage = max(MIN_RUNS, PASSAGE_RUNS // step)
        new = min(_most_in_a_passage(in_site, passage), _most_in_a_passage(in_common, passage))
        return round(new / min(max(len(runs), MIN_RUNS), passage), 3)


def _most_in_a_passage(are_new: list[bool], length: int) -> int:
    """Return the largest number of new runs among *length* successive ones."""
    sums = [0, *accumulate(are_new)]
    return max(map(sub, sums[length:], sums)) if len(sums) > length else sums[-1]
