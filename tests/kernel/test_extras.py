"""Messages about missing libraries of extras, and commands that need no extra."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from gossamer.extras import EXTRAS

ROOT = Path(__file__).parents[2]
ALL = [module for modules in EXTRAS.values() for module in modules]


def without(
    modules: list[str] | tuple[str, ...], *command: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `python -m *command*` as if *modules* were not installed."""
    hide = f"import sys, runpy\nsys.modules.update(dict.fromkeys({list(modules)}))\n"
    run = f"sys.argv[:] = {list(command)}\nrunpy.run_module({command[0]!r}, None, '__main__')"
    return subprocess.run(
        [sys.executable, "-c", hide + run],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_table_of_extras_matches_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    distributions = packages_distributions()
    for extra, required in project["optional-dependencies"].items():
        named = {re.split(r"[<>=;\[ ]", each)[0] for each in required}
        assert {distributions.get(module, [module])[0] for module in EXTRAS[extra]} == named
    assert set(EXTRAS) == set(project["optional-dependencies"])


def test_imported_library_counts_as_installed() -> None:
    code = "import faust\nfrom gossamer.extras import require_extra\nrequire_extra('faust')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("service", ["archive", "dedup", "fetcher", "frontier", "parser"])
def test_service_of_a_fleet_names_the_missing_extra(service: str) -> None:
    done = without(
        EXTRAS["fleet"],
        f"gossamer.services.{service}",
        GOSSAMER_KAFKA__SERVERS="localhost:1",
        GOSSAMER_CASSANDRA__HOSTS='["localhost"]',
    )
    assert done.returncode == 1
    assert done.stderr == (
        "gossamer: cassandra, confluent_kafka, rocksdict not installed: "
        "pip install 'gossamer[fleet]', or scripts/bootstrap fleet in a checkout\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["pages", "why http://example.org/", "topics apply", "store apply"]
)
def test_command_for_a_fleet_names_the_missing_extra(command: str) -> None:
    done = without(
        ("confluent_kafka",),
        "gossamer.console.cli.main",
        *command.split(),
        GOSSAMER_KAFKA__SERVERS="localhost:1",
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gossamer: confluent_kafka not installed: pip install ")


def test_parquet_output_names_the_missing_extra_before_it_writes(tmp_path: Path) -> None:
    output = tmp_path / "pages.parquet"
    done = without(
        ("pyarrow",),
        "gossamer.console.cli.main",
        "pages",
        "--format",
        "parquet",
        "--output",
        str(output),
    )
    assert done.returncode == 1
    assert done.stderr == (
        "gossamer: pyarrow not installed: pip install 'gossamer[parquet]', "
        "or scripts/bootstrap parquet in a checkout\n"
    )
    assert not output.exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["crawl", "seed", "pages", "why", "dead-letters"])
def test_commands_on_a_folder_need_no_extra(command: str) -> None:
    done = without(ALL, "gossamer.console.cli.main", command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
