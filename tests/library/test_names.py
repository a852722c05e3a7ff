"""The public names: what they are, what they cost, and that they are described."""

import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import gossamer

PROGRAM = "import sys; before = {*sys.modules}; import gossamer; print(*{*sys.modules} - before)"
PUBLIC = {name: getattr(gossamer, name) for name in gossamer.__all__}
DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_import_loads_no_other_module_of_the_crawler() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    loaded = {*done.stdout.split()} - sys.stdlib_module_names
    assert {name for name in loaded if "." not in name or name.startswith("gossamer")} == {
        "gossamer"
    }, done.stderr


def test_classes_do_not_load_the_crawler_or_optional_libraries() -> None:
    program = PROGRAM.replace("import gossamer;", "from gossamer import *;")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "gossamer" in loaded
    own = {"services", "inspection", "standalone", "console"}
    assert not loaded & {"aiohttp", "lxml", "msgspec", "pandas", "pyarrow", "pydantic", *own}


def test_every_public_name_and_method_is_described() -> None:
    for name, found in PUBLIC.items():
        assert inspect.getdoc(found), name
        for method, about in inspect.getmembers(found):
            if not method.startswith("_") and callable(about):
                assert inspect.getdoc(about), f"{name}.{method}"


def test_help_lists_the_names_and_the_promise() -> None:
    text = pydoc.plain(pydoc.render_doc(gossamer))
    assert "Compatibility" in text
    for name in PUBLIC:
        assert name in text, name


def test_every_public_name_and_method_is_documented() -> None:
    text = (DOCS / "python.md").read_text()
    for name in PUBLIC:
        assert f"`{name}" in text or f"gossamer.{name}" in text, name
    for owner in (gossamer.Crawl, gossamer.Fleet, gossamer.Page, gossamer.Pages):
        for name in vars(owner):
            assert name.startswith("_") or f"`{name}" in text or f".{name}" in text, name
