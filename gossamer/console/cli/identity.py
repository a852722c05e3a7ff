"""`gossamer identity`: writes and checks what the operator of a crawler must publish."""

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import clock
from gossamer.console.cli.options import add_config, seconds, settings_of
from gossamer.console.output import print_checks, say
from gossamer.errors import BadSettings
from gossamer.inspection.basics.figures import date_of, instant

if TYPE_CHECKING:
    from gossamer.console.identity_check import Check
    from gossamer.settings import Settings
    from gossamer.web.signatures import SigningKey

DEFAULT_VALIDITY = "7d"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION")
    write = actions.add_parser("write", help="write the page, the addresses and the key directory")
    write.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the files")
    write.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NETWORK",
        help="addresses that the crawler's requests come from, such as 192.0.2.0/28; repeat it",
    )
    write.add_argument(
        "--purpose",
        action="append",
        default=[],
        metavar="TEXT",
        help="what the pages are used for (default: crawl.purposes); repeat it",
    )
    write.add_argument(
        "--valid",
        type=seconds,
        default=DEFAULT_VALIDITY,
        metavar="TIME",
        help=f"how long the signatures of the directory are valid (default: {DEFAULT_VALIDITY})",
    )
    add_config(write)
    write.set_defaults(act=_write)
    check = actions.add_parser("check", help="check what is published, and the settings")
    check.add_argument(
        "--base",
        default="",
        metavar="URL",
        help="request the files from this server, before they are published",
    )
    check.add_argument("--json", action="store_true", help="print the checks as JSON")
    add_config(check)
    check.set_defaults(act=_check)
    keys = actions.add_parser("keys", help="create a key")
    keys.add_argument("action", choices=["new"], help="create a key, and print its thumbprint")
    keys.add_argument(
        "folder", type=Path, nargs="?", metavar="FOLDER", help="default: fetcher.signing_keys"
    )
    keys.add_argument(
        "--after",
        type=seconds,
        default="0s",
        metavar="TIME",
        help="the key signs only after this time, so that sites read the directory before",
    )
    keys.add_argument(
        "--lifetime",
        type=seconds,
        metavar="TIME",
        help="the key signs for this time (default: no end)",
    )
    add_config(keys)
    keys.set_defaults(act=_create_key)


def run(options: argparse.Namespace) -> int:
    """Run the action; return 1 if a check is not met."""
    return int(options.act(options))


def _write(options: argparse.Namespace) -> int:
    from gossamer.console.identity import make_published, parse_network

    settings = settings_of(options)
    ranges = [parse_network(text) for text in options.range]
    purposes = options.purpose or settings.crawl.purposes
    keys = _keys(settings)
    published = make_published(settings, keys, ranges, purposes, clock.now(), options.valid)
    folder: Path = options.folder
    for path, data in published.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        say(str(folder / path))
    if keys:
        until = instant(clock.now() + options.valid)
        say(f"The signatures of the key directory end at {until}: write them again before.")
    say("headers.json has the headers that your server must send. Then: gossamer identity check")
    return 0


def _check(options: argparse.Namespace) -> int:
    from gossamer.console.identity_check import check_identity, make_get

    settings = settings_of(options)
    get = make_get(settings, options.base)
    checks = check_identity(settings, _keys(settings), get, clock.now())
    return print_checks(checks, options.json, line, lambda check: check.is_met)


def line(check: "Check") -> str:
    """Return *check* as a line."""
    number = f"MUST {check.must}" if check.must else "also"
    remedy = f". {check.remedy}" if check.remedy else ""
    answer = "yes" if check.is_met else "no"
    return f"{number:6}  {answer:3}  {check.check}: {check.found.rstrip('.')}{remedy}"


def _create_key(options: argparse.Namespace) -> int:
    from gossamer.web.signatures import SigningKey

    folder: Path | None = options.folder or settings_of(options).fetcher.signing_keys
    if folder is None:
        raise BadSettings("name a folder, or set fetcher.signing_keys")
    if folder.exists() and not folder.is_dir():
        raise BadSettings(f"{folder} is not a folder: a new key needs a file of its own")
    start = int(clock.now() + options.after)
    jwk = SigningKey.generate().private_jwk() | {"nbf": start}
    if options.lifetime:
        jwk["exp"] = start + int(options.lifetime)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{date_of(start)}-{jwk['kid']}.json"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        json.dump(jwk, opened)
    say(f"{file}: key {jwk['kid']}, which signs from {instant(start)}")
    say("Publish the directory again (gossamer identity write), then restart the fetchers.")
    return 0


def _keys(settings: "Settings") -> "list[SigningKey]":
    from gossamer.services.fetcher.http.signing import read_signing_keys

    path = settings.fetcher.signing_keys
    return read_signing_keys(path) if path else []
