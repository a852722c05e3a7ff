"""Rules that a machine can check: docstrings, and the content of a repository.

import-linter checks the direction of imports, and that logic does no I/O (`pyproject.toml`). Every
test lists all violations at once, as file:line.
"""

import ast
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("gossamer", "services", "schemas")

MACHINE_PATH = re.compile(r"(?<![\w.:>)}\]])/(?:work|root|home|Users|mnt)/[\w.]")
REGISTRY = re.compile(r"pypi[.]org|pythonhosted[.]org|npmjs[.]|/simpl[e]/|index-url[ =]\"?http")
"""A registry of packages. (Neither pattern matches its own text.)"""
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Named: TypeAlias = Function | ast.ClassDef


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def parse_module(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def at(path: Path, line: int, what: str) -> str:
    return f"{path.relative_to(ROOT)}:{line}: {what}"


def format_list(violations: Iterator[str]) -> str:
    return "".join(f"\n{violation}" for violation in violations)


def test_modules_are_found() -> None:
    assert len(modules(*SOURCES)) > 20


def test_each_module_has_a_docstring() -> None:
    def violations() -> Iterator[str]:
        for path in modules(*SOURCES, "tests"):
            if not ast.get_docstring(parse_module(path)):
                yield at(path, 1, "no docstring")

    assert not (found := format_list(violations())), found


def public(body: list[ast.stmt]) -> Iterator[Named]:
    for node in body:
        if isinstance(node, Named) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def test_each_public_name_has_a_docstring() -> None:
    def violations() -> Iterator[str]:
        for path in modules(*SOURCES):
            for node in public(parse_module(path).body):
                if not ast.get_docstring(node):
                    yield at(path, node.lineno, f"{node.name} has no docstring")

    assert not (found := format_list(violations())), found


def test_top_level_packages_have_only_a_docstring() -> None:
    for name in ("services", "gossamer/console", "schemas"):
        body = parse_module(ROOT / name / "__init__.py").body
        assert [type(node) for node in body] == [ast.Expr], name
        assert ast.get_docstring(ast.Module(body, [])), name


@cache
def texts() -> list[tuple[Path, str]]:
    """Return every text file that the repository may contain."""
    return list(_texts())


def _texts() -> Iterator[tuple[Path, str]]:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    left_out = [".git", *(name.strip("/") for name in ignored)]
    for folder, folders, names in os.walk(ROOT):
        # Skipped, since an environment contains tens of thousands of files.
        folders[:] = sorted(one for one in folders if not _matches(one, left_out))
        for path in (Path(folder) / one for one in sorted(names) if not _matches(one, left_out)):
            with suppress(UnicodeDecodeError):
                yield path, path.read_text(encoding="utf-8")


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def test_files_name_no_machine_and_no_registry() -> None:
    def violations() -> Iterator[str]:
        for path, text in texts():
            for number, line in enumerate(text.splitlines(), 1):
                for pattern in (MACHINE_PATH, REGISTRY):
                    if hit := pattern.search(line):
                        yield at(path, number, f"names {hit[0]}")

    assert not (found := format_list(violations())), found


def test_files_contain_no_merge_conflicts() -> None:
    def violations() -> Iterator[str]:
        for path, text in texts():
            for number, line in enumerate(text.splitlines(), 1):
                if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
                    yield at(path, number, "an unresolved merge conflict")

    assert not (found := format_list(violations())), found
