"""What programs can ask of a folder and of a fleet: the commands that both have."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gossamer.library import answers
from gossamer.library.options import canonical_seeds
from gossamer.library.pages import Page, Pages
from gossamer.library.process import read_lines, run_command

if TYPE_CHECKING:
    from gossamer.library.archived import CrawlArchive
    from gossamer.settings import Settings


class Place:
    """The crawl that all commands of an object are about."""

    def __init__(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        crawl: str | None,
        place: "Path | Settings",
    ) -> None:
        """*words* are the options that name the place, and *variables* settings of its commands.
        *place* is the folder, or the settings of the fleet."""
        self._words, self._variables, self._id = tuple(words), dict(variables), crawl
        self._of_crawl = (*self._words, *([f"--crawl={crawl}"] if crawl else []))
        self._place = place
        self._opened_archive: CrawlArchive | None = None

    def pages(self) -> Pages:
        """Return the newest version of each page: to iterate over, or as a table."""
        return Pages(self._read_pages, self._write_parquet, self._archive)

    def _read_pages(self) -> Iterator[Page]:
        import msgspec

        from gossamer.events import Page as Document

        decode = msgspec.json.Decoder(Document).decode
        with read_lines(["pages", *self._of_crawl], self._variables) as lines:
            yield from (Page(decode(line), self._archive) for line in lines)

    def _write_parquet(self, file: Path) -> None:
        self._run("pages", "--format=parquet", f"--output={file}")

    def status(self) -> answers.Status:
        """Return the progress of the crawl."""
        return answers.status_of(json.loads(self._run("status", "--json")))

    def why(self, url: str) -> answers.Explanation:
        """Return what happened to *url*, the rule that decided, and what happens next."""
        return answers.explanation_of(json.loads(self._run("why", "--json", "--", url)))

    def history(self, url: str, limit: int | None = None) -> list[answers.Visit]:
        """Return the visits to *url*, newest first, at most *limit*; none if it was not visited."""
        limits = [] if limit is None else [f"--limit={limit}"]
        printed = self._run("history", "--json", *limits, "--", url, empty=True)
        return [answers.visit_of(json.loads(line)) for line in printed.splitlines()]

    def diff(
        self,
        url: str,
        since: datetime | None = None,
        until: datetime | None = None,
        form: Literal["text", "html"] = "text",
    ) -> answers.Diff:
        """Return how the page changed between two archived versions.

        The newer one is the newest *until* then, or of all. The older one is the newest until
        *since*, or the last one with another body. Times without a zone are in UTC. *form*
        `html` compares the markup.
        """
        times = {"from": since, "to": until}
        given = [f"--{name}={_time(at)}" for name, at in times.items() if at is not None]
        if form not in ("text", "html"):
            raise ValueError(f"form must be 'text' or 'html', not {form!r}")
        return answers.diff_of(
            json.loads(self._run("diff", "--json", f"--{form}", *given, "--", url))
        )

    def add(self, seeds: str | Iterable[str], *, priority: int = 0) -> None:
        """Add *seeds*, which a running crawl visits within seconds. They must be inside its scope.

        *priority*: from -100 (first) to 100 (last).
        """
        self._run("seed", f"--priority={priority}", "--", *canonical_seeds(seeds))

    def pause(self) -> None:
        """Make no further visits for the crawl, until `resume`. A run of it ends."""
        self._change_state("pause")

    def resume(self) -> None:
        """Let a paused crawl go on: at once where one runs, otherwise with the next `run`."""
        self._change_state("resume")

    def _change_state(self, action: str) -> None:
        name = self._id or json.loads(self._run("status", "--json"))["definition"]["crawl"]
        run_command(["crawls", action, *self._words, "--", name], self._variables)

    def _run(self, command: str, *words: str, empty: bool = False) -> str:
        return run_command([command, *self._of_crawl, *words], self._variables, empty)

    def _archive(self) -> "CrawlArchive":
        """Return the archive, which is opened when it is first read."""
        from gossamer.library.archived import CrawlArchive

        if self._opened_archive is None:
            self._opened_archive = CrawlArchive(self._place, self._id)
        return self._opened_archive

    def _close_archive(self) -> None:
        if self._opened_archive:
            self._opened_archive.close()
            self._opened_archive = None


def _time(at: datetime) -> str:
    """Return *at* for a command. Times of versions are rounded to microseconds, perhaps down."""
    rounded = at + timedelta(microseconds=1)
    return (rounded if at.tzinfo else rounded.replace(tzinfo=UTC)).isoformat()
