"""The commands of `scripts/fleet`: up, down, status, logs."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from console.cli.options import natural, whole
from console.figures import size
from gossamer import clock
from gossamer.errors import BadSettings, GossamerError
from gossamer.settings import load_settings
from gossamer.terminal import json_line
from local_fleet import plan
from local_fleet.record import SERVICES, FleetFolder, Member, Record
from local_fleet.status import Standing, standings
from local_fleet.up import Up, halt
from services.fetcher.access import request_headers

COUNT = re.compile(r"(\w+)=(\d{1,3})")
DONE = """\
All are ready after {took:.0f} s. To speak to this fleet (another shell needs the first line too):

  . {env}
  {gossamer} seed https://example.org/
  {gossamer} pages --follow
  {gossamer} why https://example.org/

Archives are in {warc}. Also: scripts/fleet status | logs -f | down"""


def main() -> int:
    """Run a command; return its exit status, as `gossamer` does."""
    options = _parser().parse_args()
    try:
        return int(options.run(options, FleetFolder(options.dir)))
    except GossamerError as error:
        print(f"scripts/fleet: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadSettings) else 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/fleet", description="A fleet on this machine.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (run, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("--dir", type=Path, default=Path("fleet-data"), metavar="DIR")
        for option, what in OPTIONS.get(name, {}).items():
            command.add_argument(*option.split(), **what)
        command.set_defaults(run=run)
    return parser


def up(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Start what is missing, and say what to do next."""
    began = clock.steady()
    with folder.locked():
        record = folder.load() if folder.exists else Record()
        _update(record, options)
        config = Path(record.config) if record.config else None
        contact = {"fetcher": {"contact": record.contact}} if record.contact else None
        settings = load_settings(config, contact)
        request_headers(settings.fetcher)  # Refuses to go on without a contact.
        going_up = Up(folder, record, settings)
        members = going_up.run()
        env = folder.path / "env"
        env.write_text(plan.exports(going_up.clients), encoding="utf-8")
    print(table(standings(members)), end="\n\n")
    warc, gossamer = folder.path / "warc", Path(sys.executable).with_name("gossamer")
    took = clock.steady() - began
    print(DONE.format(took=took, env=_near(env), gossamer=_near(gossamer), warc=_near(warc)))
    return 0


def _near(path: Path) -> str:
    """Return the path as a person here would type it."""
    here = Path.cwd()
    return os.path.relpath(path, here) if here in path.parents else str(path)


def _update(record: Record, options: argparse.Namespace) -> None:
    """Update *record* from *options*; what these leave out stays as it was."""
    if options.count is not None:
        record.counts = dict.fromkeys(SERVICES, options.count)
    for text in options.counts:
        match = COUNT.fullmatch(text)
        if match is None or match[1] not in SERVICES:
            raise BadSettings(f"{text!r} is no SERVICE=N; services are {', '.join(SERVICES)}")
        record.counts[match[1]] = int(match[2])
    if options.contact:
        record.contact = options.contact
    if options.config:
        record.config = str(options.config.absolute())
    if options.base_port and options.base_port != record.base_port:
        if record.members:
            raise BadSettings("--base-port: this fleet has its ports; another folder gets others")
        record.base_port = options.base_port


def down(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Stop everything; its data stays."""
    record = folder.load()
    with folder.locked():
        halt(record.members)
        folder.save(record)
    return 0


def status(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Say how all are; the exit status is 1 unless all are ready."""
    found = standings(folder.load().members)
    if options.json:
        print(json_line(msgspec.json.format(msgspec.json.encode(found))))
    else:
        print(table(found))
    return 0 if found and all(standing.ready for standing in found) else 1


def logs(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Show the last lines of logs, and on request what comes."""
    names = [member.name for member in folder.load().members]
    chosen = [n for n in names if options.which in ("", n, n.rpartition("-")[0])]
    if not chosen:
        raise BadSettings(f"{options.which!r} is none of {', '.join(names)}")
    files = [str(folder.log_of(name)) for name in chosen]
    follow = ["--follow=name", "--retry"] if options.follow else []
    os.execvp("tail", ["tail", f"--lines={options.lines}", *follow, *files])


HEAD = ("", "pid", "port", "health", "ready", "partitions", "lag", "memory", "cpu")


def table(found: Sequence[Standing]) -> str:
    """Return *found* for a person to read."""
    rows = [HEAD, *(_row(standing) for standing in found)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    for i, standing in enumerate(found, start=1):
        lines[i] += f"  {standing.reason}" if standing.reason else ""
    return "\n".join(line.rstrip() for line in lines)


def _row(standing: Standing) -> tuple[str, ...]:
    member = Member(standing.service, standing.instance, standing.port)
    return (
        member.name,
        str(standing.pid or "-"),
        str(standing.port),
        standing.health,
        "yes" if standing.ready else "no",
        "-" if standing.partitions is None else str(standing.partitions),
        f"{sum(standing.lag.values()):,}" if standing.lag else "-",
        size(standing.memory),
        f"{standing.cpu:.0f} s",
    )


COMMANDS = {
    "up": (up, "start all that is missing, servers included, and wait until it is ready"),
    "down": (down, "stop everything in good order; data stays"),
    "status": (status, "say how each process is"),
    "logs": (logs, "show what the processes say"),
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "up": {
        "counts": {"nargs": "*", "metavar": "SERVICE=N", "help": "processes of one service"},
        "--count": {
            "type": whole,
            "metavar": "N",
            "help": "processes of each service; 0 stops them, and servers stay up",
        },
        "--contact": {"help": "your e-mail address or page, sent with every request"},
        "--config": {"type": Path, "metavar": "FILE", "help": "settings in TOML"},
        "--base-port": {
            "type": int,
            "metavar": "PORT",
            "help": f"the first of the ports to listen on, on {plan.LOOPBACK} only (29000)",
        },
    },
    "status": {"--json": {"action": "store_true", "help": "as JSON, with lag by topic"}},
    "logs": {
        "which": {"nargs": "?", "default": "", "metavar": "SERVICE", "help": "as fetcher-1"},
        "-f --follow": {"action": "store_true", "help": "go on with what comes"},
        "-n --lines": {"type": natural, "default": 20, "metavar": "N"},
    },
}

if __name__ == "__main__":
    sys.exit(main())
