"""Functions, settings and gates that documents name exist in the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.services.frontier.partition.gates import GATES
from gossamer.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/design/*.md")])
FUNCTION = re.compile(r"`([\w./]+\.py):([\w.]+)`")
SETTING = re.compile(r"`(\w+)\.(?!yaml`)(\w+)`")
GATE = re.compile(r"\bgates?\s+\*([\w -]+)\*(?:\s+and\s+\*([\w -]+)\*)?")

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def defined_names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Yield the names of functions, classes, methods and constants of a module."""
    for node in body:
        match node:
            case ast.ClassDef(name=name):
                yield prefix + name
                yield from defined_names(node.body, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name


def missing_functions(document: Path) -> Iterator[str]:
    for file, name in FUNCTION.findall(document.read_text()):
        path = ROOT / file
        if not path.is_file() or name not in set(defined_names(ast.parse(path.read_text()).body)):
            yield f"{file}:{name}"


def missing_settings(document: Path) -> Iterator[str]:
    sections = {name: getattr(Settings(), name) for name in Settings.model_fields}
    for section, name in SETTING.findall(document.read_text()):
        if section in sections and not hasattr(sections[section], name):
            yield f"{section}.{name}"


@each_document
def test_functions_named_in_documents_exist(document: Path) -> None:
    assert list(missing_functions(document)) == []


@each_document
def test_settings_named_in_documents_exist(document: Path) -> None:
    assert list(missing_settings(document)) == []


def test_gates_named_in_documents_exist() -> None:
    texts = [document.read_text() for document in DOCUMENTS]
    named = {name for text in texts for pair in GATE.findall(text) for name in pair if name}
    assert len(named) > 3
    assert named - {gate.name for gate in GATES} == set()
