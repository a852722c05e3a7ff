"""The visits of `gossamer check`, and what it prints."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.brief import definition_of, settings_for
from gossamer.console.cli.options import lines_of
from gossamer.console.output import GREEN, RED, YELLOW, output_for, print_json, say
from gossamer.crawl import BYTE_ORDER_MARK, complete_url
from gossamer.errors import BadSettings
from gossamer.inspection.answers.seeds import (
    SeedFact,
    SeedState,
    count_states,
    read_seeds,
    sort_seeds,
)
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.progress.progress import End, Progress
from gossamer.standalone.brief import crawl_briefly
from gossamer.web.url import BadUrl, canonicalize

PROGRESS_INTERVAL = 10.0
"""Seconds between two lines of progress on standard error."""
STATE_WIDTH = max(map(len, SeedState)) + 2


def run_command(options: argparse.Namespace) -> int:
    """Visit the seeds, and print their states; return 1 if any is bad, and 130 after Ctrl-C."""
    settings, brief = settings_for(options, parser={"entries_limit": 0})
    lines = [*_lines(options.seeds)]
    if not lines:
        raise BadSettings("no seed: name URLs, or files with URLs")
    urls = [_canonical(text) for _, text in lines]
    valid = tuple(url for url in urls if isinstance(url, str))
    definition = definition_of(options, settings, valid) if valid else None
    sorted_ = sort_seeds(lines, urls, definition)
    facts, is_interrupted = [*sorted_.known.values()], False
    if sorted_.visited:
        visited, show = tuple(sorted_.visited), _Progress(len(sorted_.visited))
        with crawl_briefly(brief, visited, options.max_time, show) as ended:
            facts = [*read_seeds(ended.folder.open(), lines, sorted_)]
            is_interrupted = ended.end in (End.INTERRUPTED, End.KILLED)
    _print(facts, options)
    if is_interrupted:
        return 130
    return int(any(fact.state is not SeedState.OK for fact in facts))


def _lines(given: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the seeds that are *given* by URL or by file, with their numbers in the list."""
    number = 0
    for one in given:
        is_file = one == "-" or Path(one).is_file()
        for text in lines_of((), one, "SEEDS") if is_file else [one]:
            number += 1
            typed = text.strip().removeprefix(BYTE_ORDER_MARK).strip()
            if typed and not typed.startswith("#"):
                yield number, typed


def _canonical(text: str) -> str | BadUrl:
    try:
        return canonicalize(complete_url(text))
    except BadUrl as error:
        return error


def _print(facts: list[SeedFact], options: argparse.Namespace) -> None:
    if options.json:
        for fact in facts:
            print_json(fact)
        return
    for fact in facts:
        if fact.state is SeedState.OK and not options.verbose:
            continue
        style = GREEN if fact.state is SeedState.OK else YELLOW
        text = f"line {fact.line}: {fact.seed}: {fact.text}"
        state = output_for(sys.stdout).style(f"{fact.state:{STATE_WIDTH}}", style)
        say(text, "", state, " " * STATE_WIDTH)
    found = ", ".join(f"{count:,} {state}" for state, count in count_states(facts).items())
    is_good = all(fact.state is SeedState.OK for fact in facts)
    say(f"{plural(len(facts), 'seed')}: {found}.", GREEN if is_good else RED)


class _Progress:
    """Prints the progress on standard error, each PROGRESS_INTERVAL."""

    def __init__(self, seeds: int) -> None:
        self._seeds, self._shown_at = seeds, clock.steady()

    def __call__(self, progress: Progress) -> None:
        if (now := clock.steady()) - self._shown_at >= PROGRESS_INTERVAL:
            self._shown_at = now
            text = f"{plural(progress.pages, 'page')} of {plural(self._seeds, 'seed')} so far"
            print(text, file=sys.stderr, flush=True)
