"""The words of `scripts/fleet`: up, down, status, logs."""

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from console.cli.options import natural
from console.fleet import plan
from console.fleet.record import SERVICES, FleetFolder, Record
from console.fleet.rise import Rise, halt
from console.fleet.status import standings, table
from gossamer import clock
from gossamer.config import load_settings
from gossamer.errors import BadSettings, GossamerError
from services.fetcher.identity import request_headers

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
        _learn(record, options)
        config = Path(record.config) if record.config else None
        contact = {"fetcher": {"contact": record.contact}} if record.contact else None
        settings = load_settings(config, contact)
        request_headers(settings.fetcher)  # Refuses to go on without a contact.
        rise = Rise(folder, record, settings)
        members = rise.run()
        env = folder.path / "env"
        env.write_text(plan.exports(rise.clients), encoding="utf-8")
    print(table(standings(members)), end="\n\n")
    warc, gossamer = folder.path / "warc", Path(sys.executable).with_name("gossamer")
    took = clock.steady() - began
    print(DONE.format(took=took, env=_near(env), gossamer=_near(gossamer), warc=_near(warc)))
    return 0


def _near(path: Path) -> str:
    """Return the path as a person here would type it."""
    here = Path.cwd()
    return os.path.relpath(path, here) if here in path.parents else str(path)


def _learn(record: Record, options: argparse.Namespace) -> None:
    """Let *record* know what was said now; what was not said stays as it was."""
    if options.count:
        record.counts = dict.fromkeys(SERVICES, options.count)
    for text in options.counts:
        said = COUNT.fullmatch(text)
        if said is None or said[1] not in SERVICES:
            raise BadSettings(f"{text!r} is no SERVICE=N; services are {', '.join(SERVICES)}")
        record.counts[said[1]] = int(said[2])
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
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
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


COMMANDS = {
    "up": (up, "start all that is missing, servers included, and wait until it is ready"),
    "down": (down, "stop everything in good order; data stays"),
    "status": (status, "say how each process is"),
    "logs": (logs, "show what the processes say"),
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "up": {
        "counts": {"nargs": "*", "metavar": "SERVICE=N", "help": "so many of one service"},
        "--count": {"type": natural, "metavar": "N", "help": "so many of each service"},
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
