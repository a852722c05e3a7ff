"""scripts/bootstrap: which lock file each kind installs, and their contents."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UV = """#!/bin/sh
echo "$@" >>"$0.calls"
"""
CLIENTS = {"cassandra-driver", "confluent-kafka", "rocksdict"}


class Checkout:
    """A checkout in which a stand-in for uv records its arguments."""

    def __init__(self, folder: Path) -> None:
        self._root, self._uv = folder / "checkout", folder / "bin" / "uv"
        (self._root / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "bootstrap", self._root / "scripts")
        for file in [ROOT / "pyproject.toml", *ROOT.glob("requirements*.lock")]:
            shutil.copy(file, self._root)
        self._uv.parent.mkdir()
        self._uv.write_text(UV)
        self._uv.chmod(0o755)

    def run(self, *kind: str) -> "subprocess.CompletedProcess[str]":
        path = f"{self._uv.parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "GOSSAMER_VENV": ".venv"}
        command = [str(self._root / "scripts" / "bootstrap"), *kind]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def installed_by(self, *kind: str) -> list[str]:
        """Return the lock files that `scripts/bootstrap *kind*` installs."""
        calls = self._uv.with_suffix(".calls")
        calls.unlink(missing_ok=True)
        done = self.run(*kind)
        assert done.returncode == 0, done.stderr
        return re.findall(r"-r (\S+)", calls.read_text()) if calls.exists() else []

    def change(self, lock: str) -> None:
        with (self._root / lock).open("a") as file:
            file.write("# changed\n")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.mark.slow
def test_kinds_installed_one_after_another_stay_installed(checkout: Checkout) -> None:
    assert checkout.installed_by() == ["requirements.lock"]
    assert checkout.installed_by("parquet") == ["requirements-parquet.lock"]
    assert checkout.installed_by("fleet") == ["requirements-fleet.lock"]
    for kind in ((), ("run",), ("parquet",), ("fleet",)):
        assert checkout.installed_by(*kind) == []


@pytest.mark.slow
def test_dev_contains_all_other_kinds(checkout: Checkout) -> None:
    assert checkout.installed_by("dev") == ["requirements-dev.lock"]
    for kind in ("run", "parquet", "s3", "replay", "mcp", "rust", "fleet", "faust"):
        assert checkout.installed_by(kind) == []


@pytest.mark.long
def test_changed_lock_file_installs_every_kind_again(checkout: Checkout) -> None:
    checkout.installed_by("parquet")
    checkout.installed_by("fleet")
    checkout.change("requirements.lock")
    assert checkout.installed_by("fleet") == ["requirements-fleet.lock"]
    assert checkout.installed_by("parquet") == ["requirements-parquet.lock"]


def test_unknown_kind_is_refused_with_the_known_ones(checkout: Checkout) -> None:
    done = checkout.run("flet")
    assert done.returncode == 2
    kinds = "run|api|parquet|s3|replay|mcp|rust|fleet|faust|dev"
    assert done.stderr == f"scripts/bootstrap [{kinds}]: unknown kind: flet\n"


def locked_packages(kind: str = "") -> dict[str, str]:
    """Return the packages of a lock file, with their versions.

    Markers are left out: a package that one kind needs on Windows may be needed everywhere by dev.
    """
    lines = (ROOT / f"requirements{kind}.lock").read_text(encoding="utf-8").splitlines()
    found: dict[str, str] = {}
    for line in lines:
        if not line.startswith((" ", "#")):
            name, _, version = line.partition(" ")[0].partition("==")
            found[name] = f"{found.get(name, '')} {version}"
    return found


def test_parquet_adds_only_pyarrow_and_a_fleet_only_its_clients() -> None:
    run = locked_packages()
    assert not {"pyarrow", *CLIENTS} & set(run)
    assert set(locked_packages("-parquet")) - set(run) == {"pyarrow"}
    assert set(locked_packages("-fleet")) >= CLIENTS
    assert not {"pyarrow", "faust-streaming"} & set(locked_packages("-fleet"))
    assert set(locked_packages("-faust")) >= {"aiokafka", "faust-streaming", "rocksdict"}


@pytest.mark.parametrize(
    "kind", ["-parquet", "-s3", "-replay", "-rust", "-fleet", "-faust", "-dev"]
)
def test_every_kind_has_the_packages_of_a_crawl_in_the_same_versions(kind: str) -> None:
    assert locked_packages(kind).items() >= locked_packages().items()


@pytest.mark.parametrize("kind", ["-parquet", "-s3", "-replay", "-rust", "-fleet", "-faust"])
def test_dev_has_the_packages_of_every_kind_in_the_same_versions(kind: str) -> None:
    assert locked_packages("-dev").items() >= locked_packages(kind).items()


@pytest.mark.long
def test_optimized_interpreter_is_preferred_to_a_newer_one(
    checkout: Checkout, tmp_path: Path
) -> None:
    for name, answer in (("python3.13", "exit 1"), ("python3.12", "exit 0")):
        stand_in = tmp_path / "bin" / name
        stand_in.write_text(
            f'#!/bin/sh\ncase "$*" in\n*CONFIG_ARGS*) {answer} ;;\n--version) echo {name} ;;\n'
            f'*) exec {sys.executable} "$@" ;;\nesac\n'
        )
        stand_in.chmod(0o755)
    assert "with python3.12 and" in checkout.run().stderr
