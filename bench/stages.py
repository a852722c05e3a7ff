"""CPU time of a crawl by stage, from samples of all its processes.

The input is the output of `py-spy record --subprocesses --format raw`: a line for each sampled
stack, outermost frame first, with its number of samples. A stack counts for the stage of its
innermost frame that belongs to one, so the stages add up to the whole. Stacks that wait in a call
that py-spy counts as running are skipped.
"""

import re
from collections import Counter
from collections.abc import Iterable

REST = "the rest"
STAGES: tuple[tuple[str, str], ...] = (
    ("fetch", r"services/fetcher/|aiohttp/|yarl/|aiodns|multidict"),
    ("pipes", r"services/parser/(pool|service|wiring)"),
    ("decode", r"services/parser/(charset|received|html/cost)"),
    ("links", r"services/parser/(links|html/links|html/elements)"),
    ("language", r"detect_language|fasttext/"),
    ("text", r"services/parser/(text|html/text)|trafilatura|justext|lxml"),
    ("simhash", r"services/parser/simhash"),
    ("digest", r"digest_of|gossamer/text/(sketch|blocks)"),
    ("metadata", r"services/parser/"),
    ("seen", r"services/dedup/seen"),
    ("verdict", r"services/dedup/|gossamer/text/"),
    ("frontier", r"services/frontier/"),
    ("WARC", r"services/archive/|isal/|fastwarc"),
    ("commit", r"(_leave|_enter|flush) \(gossamer/(sqlite|store)"),
    ("store", r"gossamer/store/"),
    ("log", r"gossamer/(log/|sqlite|runtime/(runner|arrears|observed|trace))"),
    ("event loops", r"gossamer/runtime/|asyncio/|selectors|concurrent/futures"),
    ("start", r"importlib|standalone/|multiprocessing/|console/"),
)
"""The name of each stage, and a pattern of its frames, `function (file:line)`."""

_waits = re.compile(r"^(EpollSelector\.select|Connection\._recv|\S+_do_waitpid|_worker) \(")
_import = re.compile(r"_find_and_load|_find_spec")
_stages = [(name, re.compile(pattern)) for name, pattern in STAGES]


def stages_of(raw: Iterable[str]) -> Counter[str]:
    """Return the number of samples of each stage in py-spy's output."""
    found = Counter[str]()
    for line in raw:
        stack, _, times = line.rstrip().rpartition(" ")
        frames = [frame for frame in stack.split(";") if not frame.startswith("process ")]
        if frames and not _waits.search(frames[-1]):
            found[_stage_of(frames)] += int(times)
    return found


def _stage_of(frames: list[str]) -> str:
    if any(map(_import.search, frames)):
        return STAGES[-1][0]
    stages = (name for frame in reversed(frames) for name, its in _stages if its.search(frame))
    return next(stages, REST)


def table_of(stages: Counter[str], milliseconds: float) -> str:
    """Return a table that divides *milliseconds* among the *stages*, in their order."""
    names = [*dict.fromkeys([*(name for name, _ in STAGES), REST])]
    whole = stages.total()
    rows = [(name, milliseconds * stages[name] / whole) for name in names]
    lines = [f"{name:18} {share:6.2f} ms" for name, share in [*rows, ("all", milliseconds)]]
    return "\n".join(lines)
