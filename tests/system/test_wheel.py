"""The built wheel: one top-level package, and the whole crawler from it, without the checkout."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.synthweb import SynthWeb, World

from .assertions import assert_polite, assert_thorough
from .crawl import WebCrawl, environment

ROOT = Path(__file__).parents[2]
FLEET = """
from importlib.util import find_spec
from pathlib import Path
from gossamer.local_fleet.plan import command_of
from gossamer.local_fleet.record import SERVICES, FleetFolder, Member
members = [Member(service, "1", 1) for service in SERVICES]
modules = [command_of(member, FleetFolder(Path("fleet")))[-1] for member in members]
print([module for module in modules if not find_spec(module)])
"""
"""Prints the services that a fleet on one machine cannot start."""
WORLD = World(seed=3, hosts=4, pages=3, silent=0, stuck=0, retries=0)


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build a *kind* of distribution from *source* into *folder*; return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory"]
    subprocess.run([*command, str(folder)], cwd=source, check=True, stdout=subprocess.DEVNULL)
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def names_in(wheel: Path) -> list[str]:
    return sorted(zipfile.ZipFile(wheel).namelist())


def test_wheel_has_one_package_that_users_can_import(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names_in(wheel)}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"gossamer"}


def test_wheel_has_all_files_of_the_package(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "gossamer", "services", "schemas"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    files = [Path(name) for name in listed.stdout.splitlines()]
    expected = {
        name.as_posix() if name.parts[0] == "gossamer" else f"gossamer/{name.as_posix()}"
        for name in files
        if not (ROOT / name).is_symlink()
    }
    assert expected <= {*names_in(wheel)}


def test_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    source = build("sdist", ROOT, tmp_path / "sdist")
    subprocess.run(["tar", "xzf", str(source), "-C", str(tmp_path)], check=True)
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    assert names_in(build("wheel", unpacked, tmp_path / "wheel")) == names_in(wheel)


@pytest.mark.slow
def test_installed_wheel_crawls_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    # The locked dependencies are those of this environment; nothing is fetched.
    Path(packages, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    installing = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    subprocess.run([*installing, "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    python, program = str(home / "bin" / "python"), str(home / "bin" / "gossamer")
    settings = environment(PYTHONPATH="", PYTHONSAFEPATH="1")
    found = "import gossamer.services.fetcher, gossamer; print(gossamer.__file__)"
    printed = run_command([python, "-c", found], environment=settings).out
    assert printed.strip().startswith(str(home))
    assert run_command([python, "-c", FLEET], environment=settings).out == "[]\n"
    assert run_command([program, "--version"], environment=settings).out.startswith("gossamer ")
    with SynthWeb(WORLD) as web:
        crawl = WebCrawl(web, tmp_path / "data", scope="any")
        done = run_command([program, *crawl.command()[1:]], environment=settings)
        assert done.code == 0, done
        assert_polite(web.requests(), web.truth, crawl.delay)
        assert_thorough(web.requests(), web.truth)
