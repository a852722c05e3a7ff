"""Crawls kinds of honest sites and prints a table of the pages that each crawl lost.

`python -m tests.honest --size 60 --kinds statutes,shops` crawls each kind by itself; `--together`
crawls all in one run. `--linked` names none of the sites. `--keep DIR` keeps the crawls.
"""

import argparse
from pathlib import Path

from .crawl import HonestCrawl, crawl_honest
from .kinds import KINDS

COLUMNS = (
    f"{'kind':14} {'pages':>6} {'requests':>8} {'requested':>9} {'published':>9} {'% lost':>6}"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.honest", description=__doc__)
    parser.add_argument("--size", type=int, default=60, help="about the pages of a kind")
    parser.add_argument("--kinds", default=",".join(KINDS), help="names with commas between")
    parser.add_argument("--linked", action="store_true", help="seeds do not name the sites")
    parser.add_argument("--together", action="store_true", help="one crawl of all kinds")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the folders of the crawls")
    given = parser.parse_args()
    kinds = tuple(given.kinds.split(","))
    print(COLUMNS)
    for group in [kinds] if given.together else [(kind,) for kind in kinds]:
        folder = given.keep / "+".join(group)[:40] if given.keep else None
        show(crawl_honest(group, given.size, given.linked, folder))


def show(crawl: HonestCrawl) -> None:
    if crawl.unread:
        print(f"the run ended too early, with {crawl.unread} unread records:")
    for kind, it in crawl.harvests.items():
        numbers = f"{len(it.pages):6} {it.requests:8} {len(it.requested):9} {len(it.published):9}"
        print(f"{kind:14} {numbers} {100 * it.lost_share:6.1f}", flush=True)
        for url, reason in it.reasons.items():
            print(f"    {reason.word}: {url}\n        {reason.sentence}", flush=True)


if __name__ == "__main__":
    main()
