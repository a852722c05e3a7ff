"""The commands of `scripts/fleet`: up, down, status, logs."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gossamer import clock
from gossamer.console.cli.main import Parser
from gossamer.console.cli.options import non_negative, positive
from gossamer.console.output import print_error, print_json
from gossamer.errors import BadSettings, GossamerError
from gossamer.inspection.basics.figures import size
from gossamer.local_fleet import plan
from gossamer.local_fleet.record import SERVICES, FleetFolder, Member, Record
from gossamer.local_fleet.status import MemberStatus, read_statuses
from gossamer.local_fleet.up import Up, stop_members
from gossamer.services.fetcher.access import request_headers
from gossamer.settings import load_settings

_count = re.compile(r"(\w+)=(\d{1,3})")
NEXT_STEPS = """\
All are ready after {took:.0f} s. To use this fleet (the first line is needed in each shell):

  . {env}
  {gossamer} seed https://example.org/
  {gossamer} pages --follow
  {gossamer} why https://example.org/

Archives are in {warc}. Also: scripts/fleet status | logs -f | down"""


def main() -> int:
    """Run a command; return its exit status, as `gossamer` does."""
    options = _parser().parse(sys.argv[1:])
    try:
        return int(options.run(options, FleetFolder(options.dir)))
    except GossamerError as error:
        print_error("scripts/fleet", str(error))
        return 2 if isinstance(error, BadSettings) else 1
    except KeyboardInterrupt:
        return 130


def _parser() -> Parser:
    parser = Parser(prog="scripts/fleet", description="A fleet on this machine.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (run, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("--dir", type=Path, default=Path("fleet-data"), metavar="DIR")
        for option, settings in OPTIONS.get(name, {}).items():
            command.add_argument(*option.split(), **settings)
        command.set_defaults(run=run, parser=command)
    return parser


def up(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Start missing processes, and print the next steps."""
    began = clock.steady()
    with folder.lock():
        record = folder.load() if folder.exists else Record()
        _update(record, options)
        config = Path(record.config) if record.config else None
        contact = {"fetcher": {"contact": record.contact}} if record.contact else None
        settings = load_settings(config, contact)
        request_headers(settings.fetcher)  # Raises BadSettings without a contact.
        start = Up(folder, record, settings)
        members = start.run()
        env = folder.path / "env"
        env.write_text(plan.exports(start.clients), encoding="utf-8")
    print(table(read_statuses(members)), end="\n\n")
    warc, gossamer = folder.path / "warc", Path(sys.executable).with_name("gossamer")
    took = clock.steady() - began
    print(NEXT_STEPS.format(took=took, env=_near(env), gossamer=_near(gossamer), warc=_near(warc)))
    return 0


def _near(path: Path) -> str:
    """Return the path relative to the current folder, if it is in it."""
    here = Path.cwd()
    return os.path.relpath(path, here) if here in path.parents else str(path)


def _update(record: Record, options: argparse.Namespace) -> None:
    """Update *record* from *options*; options that are not given change nothing."""
    if options.count is not None:
        record.counts = dict.fromkeys(SERVICES, options.count)
    for text in options.counts:
        match = _count.fullmatch(text)
        if match is None or match[1] not in SERVICES:
            raise BadSettings(f"{text!r} is not SERVICE=N; services are {', '.join(SERVICES)}")
        record.counts[match[1]] = int(match[2])
    if options.contact:
        record.contact = options.contact
    if options.config:
        record.config = str(options.config.absolute())
    if options.base_port and options.base_port != record.base_port:
        if record.members:
            raise BadSettings(
                "--base-port: this fleet has ports already; use another folder with --dir"
            )
        record.base_port = options.base_port


def down(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Stop all processes; their data stays."""
    record = folder.load()
    with folder.lock():
        stop_members(record.members)
        folder.save(record)
    return 0


def status(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Print the status of all processes; return 1 unless all are ready."""
    found = read_statuses(folder.load().members)
    if options.json:
        print_json(found, is_indented=True)
    else:
        print(table(found))
    return 0 if found and all(status.ready for status in found) else 1


def logs(options: argparse.Namespace, folder: FleetFolder) -> int:
    """Print the last lines of logs, and new lines with --follow."""
    names = [member.name for member in folder.load().members]
    chosen = [n for n in names if options.which in ("", n, n.rpartition("-")[0])]
    if not chosen:
        raise BadSettings(f"{options.which!r} is not a process: choose from {', '.join(names)}")
    files = [str(folder.log_of(name)) for name in chosen]
    follow = ["--follow=name", "--retry"] if options.follow else []
    os.execvp("tail", ["tail", f"--lines={options.lines}", *follow, *files])


COLUMNS = ("", "pid", "port", "health", "ready", "partitions", "lag", "memory", "cpu")


def table(statuses: Sequence[MemberStatus]) -> str:
    """Return *statuses* as a table."""
    rows = [COLUMNS, *(_row(status) for status in statuses)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    for i, status in enumerate(statuses, start=1):
        lines[i] += f"  {status.reason}" if status.reason else ""
    return "\n".join(line.rstrip() for line in lines)


def _row(status: MemberStatus) -> tuple[str, ...]:
    member = Member(status.service, status.instance, status.port)
    return (
        member.name,
        str(status.pid or "-"),
        str(status.port),
        status.health,
        "yes" if status.ready else "no",
        "-" if status.partitions is None else str(status.partitions),
        f"{sum(status.lag.values()):,}" if status.lag else "-",
        size(status.memory),
        f"{status.cpu:.0f} s",
    )


COMMANDS = {
    "up": (up, "start all missing processes, servers included, and wait until they are ready"),
    "down": (down, "stop all processes in good order; data stays"),
    "status": (status, "show the status of each process"),
    "logs": (logs, "show the logs of the processes"),
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "up": {
        "counts": {
            "nargs": "*",
            "metavar": "SERVICE=N",
            "help": "number of processes of one service",
        },
        "--count": {
            "type": non_negative,
            "metavar": "N",
            "help": "number of processes of each service; 0 stops them, and servers stay up",
        },
        "--contact": {"help": "your e-mail address or Web page, sent with each request"},
        "--config": {"type": Path, "metavar": "FILE", "help": "settings in TOML"},
        "--base-port": {
            "type": int,
            "metavar": "PORT",
            "help": f"the first port, on {plan.LOOPBACK} only (default: 29000)",
        },
    },
    "status": {"--json": {"action": "store_true", "help": "as JSON, with lag by topic"}},
    "logs": {
        "which": {
            "nargs": "?",
            "default": "",
            "metavar": "SERVICE",
            "help": "a service or a process, such as fetcher-1",
        },
        "-f --follow": {"action": "store_true", "help": "continue with new lines"},
        "-n --lines": {"type": positive, "default": 20, "metavar": "N"},
    },
}

if __name__ == "__main__":
    sys.exit(main())
