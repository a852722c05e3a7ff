"""Own rules: functions in a file of the user that decide about the pages and links of a crawl.

    def keep(page: Page) -> bool: ...                     # is the page published?
    def extract(page: Page) -> dict | list[dict] | None: ...  # rows for the field `extracted`
    def follow(link: Link, page: Page) -> bool: ...       # is the link followed?
    def priority(link: Link, page: Page) -> int: ...      # -100 (first) to 100 (last)

All four are optional. `docs/rules.md` explains them to users. A crawl's definition names a file
(`…/rules.py`) or an importable module, and a digest of it.

The functions run in the parser's sandboxed children (`gossamer.services.parser.rules`), which
import the file before the sandbox closes. A page that a function fails on is treated as if the file
did not have the function.
"""

import hashlib
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Heading, Link, PageParsed
from gossamer.text import PageField

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["Element", "Link", "Page"]

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "keep": ("page",),
    "extract": ("page",),
    "follow": ("link", "page"),
    "priority": ("link", "page"),
}
"""The functions of a rules file, in the order in which they run, and their parameters."""
FILE_ENDING = ".py"
MAX_ROWS, MAX_ROWS_BYTES = 1000, 256 << 10
"""Maximum number of rows that `extract` returns for a page, and their size as JSON."""
MAX_FAILURE_CHARS = 1000
MIN_PRIORITY, MAX_PRIORITY = -100, 100
SIMILARITY = 0.8
"""Similarity from which the name of a function counts as a misspelt name of a rule."""


class Nonsense(Exception):
    """A function returned something that it must not return."""


class FieldMissing(Exception):
    """A function asks for a part of the page that was not read."""


class Element:
    """An HTML element, whose contents CSS selectors choose."""

    def __init__(self, node: "LexborNode") -> None:
        self._node = node

    @property
    def text(self) -> str:
        """The text within the element, with white space folded."""
        return " ".join(self._node.text(separator=" ").split())

    @property
    def html(self) -> str:
        """The element as HTML."""
        return self._node.html or ""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes by name; one without a value has ""."""
        return {name: value or "" for name, value in self._node.attributes.items()}

    def select(self, selector: str) -> "list[Element]":
        """Return the elements within this one that a CSS selector chooses."""
        return [Element(node) for node in self._node.css(selector)]

    def css(self, selector: str) -> list[str]:
        """Return the texts or the attributes of the elements that a CSS selector chooses.

        `h1::text` and `h1` mean the text within each element, `a::attr(href)` an attribute of each
        element that has it.
        """
        chosen, _, wanted = selector.partition("::")
        elements = self.select(chosen)
        if wanted in ("", "text"):
            return [element.text for element in elements]
        if wanted.startswith("attr(") and wanted.endswith(")"):
            name = wanted[5:-1].strip()
            found = (element.attributes.get(name) for element in elements)
            return [value for value in found if value is not None]
        raise ValueError(f"{selector!r} must end with ::text or ::attr(NAME)")

    def css_first(self, selector: str) -> str | None:
        """Return the first text or attribute that `css` returns; None without one."""
        return next(iter(self.css(selector)), None)


class Page:
    """A page with a 2xx response, as the functions of a rules file receive it."""

    def __init__(
        self,
        parsed: PageParsed,
        read_html: Callable[[], str],
        read_json: Callable[[str], Any],
        without: Collection[str] = (),
    ) -> None:
        """*without*: the parts of the page that were not read."""
        self._parsed, self._read_html, self._read_json = parsed, read_html, read_json
        self._without = without

    def _require(self, part: PageField) -> None:
        if part in self._without:
            raise FieldMissing(
                f"the page has no {part}: parser.fields lacks it, or reading it failed"
            )

    @property
    def url(self) -> str:
        """The canonical URL."""
        return self._parsed.visit.url

    @property
    def depth(self) -> int:
        """Number of links from a seed."""
        return self._parsed.visit.depth

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._parsed.status

    @property
    def content_type(self) -> str:
        """The media type, such as `text/html`."""
        return self._parsed.content_type

    @property
    def title(self) -> str:
        """The title, or ""."""
        return self._parsed.title

    @property
    def description(self) -> str:
        """The description that the page declares, or ""."""
        return self._parsed.description

    @property
    def language(self) -> str:
        """The language of the text as an ISO 639 code, or ""."""
        self._require("language")
        return self._parsed.language

    @property
    def text(self) -> str:
        """The main text, as in `pages`, or ""."""
        return self._parsed.text or ""

    @property
    def headings(self) -> tuple[Heading, ...]:
        """The headings."""
        self._require("headings")
        return self._parsed.headings

    @property
    def links(self) -> tuple[Link, ...]:
        """The links, in the page's order."""
        return self._parsed.links

    @property
    def open_graph(self) -> dict[str, str]:
        """OpenGraph properties by name, such as `og:type`."""
        self._require("metadata")
        return self._parsed.open_graph

    @cached_property
    def jsonld(self) -> list[dict[str, Any]]:
        """The objects in the page's JSON-LD, those of an `@graph` and of a list one by one. JSON
        that cannot be read is left out."""
        self._require("metadata")
        found, waiting = list[dict[str, Any]](), list[Any]()
        for text in self._parsed.linked_data:
            try:
                waiting.append(self._read_json(text))
            except ValueError:
                continue
        while waiting:
            match waiting.pop(0):
                case {"@graph": list(objects)}:
                    waiting[:0] = objects
                case dict(one):
                    found.append(one)
                case list(objects):
                    waiting[:0] = objects
        return found

    @cached_property
    def html(self) -> str:
        """The page as HTML, without scripts run; "" for other types."""
        return self._read_html()

    @cached_property
    def _root(self) -> Element | None:
        from selectolax.lexbor import LexborHTMLParser

        node = LexborHTMLParser(self.html).root if self.html else None
        return Element(node) if node else None

    def select(self, selector: str) -> list[Element]:
        """Return the elements that a CSS selector chooses; [] if the page is not HTML."""
        return self._root.select(selector) if self._root else []

    def css(self, selector: str) -> list[str]:
        """Return the texts (`h1::text`) or attributes (`a::attr(href)`) of the elements that a CSS
        selector chooses; [] if the page is not HTML."""
        return self._root.css(selector) if self._root else []

    def css_first(self, selector: str) -> str | None:
        """Return the first text or attribute that `css` returns; None without one."""
        return next(iter(self.css(selector)), None)


@dataclass(frozen=True)
class Rules:
    """The functions of a rules file."""

    functions: Mapping[str, Callable[..., Any]]
    places: Mapping[str, str]
    """Function → its file and line: `rules.py:12`."""
    file: str
    validate: Callable[[Any], Any]
    """Returns a row of `extract` as its model or schema demands; raises an error for another."""

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the checked result of the function *name*; raise Nonsense, or what it raises."""
        result = self.functions[name](*arguments)
        if name == "priority":
            if type(result) is not int or not MIN_PRIORITY <= result <= MAX_PRIORITY:
                raise Nonsense(
                    f"priority must return a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}, "
                    f"and returned {_shorten(result)}"
                )
        elif not isinstance(result, bool):
            raise Nonsense(f"{name} must return True or False, and returned {_shorten(result)}")
        return result

    def extract(self, page: Page) -> Iterator[str | Exception]:
        """Yield each row that `extract` returns for *page* as JSON, or why it is invalid."""
        result = self.functions["extract"](page)
        if result is None:
            return
        rows = [*result] if isinstance(result, list | tuple | Iterator) else [result]
        if len(rows) > MAX_ROWS:
            raise Nonsense(f"extract must return at most {MAX_ROWS:,} rows for a page")
        size = 0
        for row in rows:
            try:
                text = self._encode(row)
            except Exception as error:
                yield error
                continue
            size += len(text)
            if size > MAX_ROWS_BYTES:
                raise Nonsense(f"extract must return at most {MAX_ROWS_BYTES:,} bytes for a page")
            yield text.decode()

    def _encode(self, row: Any) -> bytes:
        row = self.validate(row)
        if not isinstance(row, dict):
            raise Nonsense(
                f"extract must return a dict, a list of them or None, and returned {_shorten(row)}"
            )
        try:
            return msgspec.json.encode(row)
        except (TypeError, ValueError) as error:
            raise Nonsense(f"extract returned a row that is not JSON: {error}") from None

    def describe(self, error: BaseException) -> str:
        """Return the traceback of *error* on one line, from the rules file on."""
        frames = traceback.extract_tb(error.__traceback__)
        own = next((n for n, frame in enumerate(frames) if frame.filename == self.file), None)
        parts = [
            f"{type(error).__name__}: {error}" if not isinstance(error, Nonsense) else f"{error}"
        ]
        for frame in reversed(frames[own:] if own is not None else ()):
            line = f": {frame.line}" if frame.line else ""
            parts.append(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}{line}")
        text = " < ".join(" ".join(part.split()) for part in parts)
        return text[:MAX_FAILURE_CHARS].encode("utf-8", "replace").decode()


def _shorten(value: Any) -> str:
    return f"{type(value).__name__}" if value is not None else "None"


def load_rules(name: str) -> Rules:
    """Import the rules file or module *name*; raise BadSettings if it cannot be used."""
    module = _import_file(name) if is_file(name) else _import_module(name)
    file = module.__file__ or name
    _keep_lines(file)
    functions = {one: getattr(module, one) for one in PARAMETERS if hasattr(module, one)}
    _check_names(module, name)
    for one, function in functions.items():
        _check_function(one, function, name)
    places = {one: _place_of(function, file) for one, function in functions.items()}
    return Rules(functions, places, file, _validator_of(module, name))


def _keep_lines(file: str) -> None:
    """Have tracebacks show the lines of *file* in the sandbox, which opens no file."""
    lines = linecache.getlines(file)
    # Without a time of modification the file is not examined again.
    linecache.cache[file] = len("".join(lines)), None, lines, file


def is_file(name: str) -> bool:
    """Return whether *name* is that of a file, and not of a module."""
    return name.endswith(FILE_ENDING)


def _import_file(name: str) -> ModuleType:
    path = Path(name)
    source = _read_file(path)
    module = ModuleType(f"rules_{hashlib.sha256(name.encode()).hexdigest()[:12]}")
    module.__file__ = name
    folder, loaded = str(path.parent), {*sys.modules}
    sys.modules[module.__name__] = module
    # The file's own modules are found as if it were a script.
    sys.path.insert(0, folder)
    try:
        exec(compile(source, name, "exec"), module.__dict__)
    except SyntaxError as error:
        raise BadSettings(f"rules: {error.filename}, line {error.lineno}: {error.msg}") from error
    except BaseException as error:
        raise BadSettings(f"rules: {name} cannot be imported: {_at(error, name)}") from error
    finally:
        sys.path.remove(folder)
        # Another rules file may have other modules of the same names.
        for other in {*sys.modules} - loaded - {module.__name__}:
            file = str(getattr(sys.modules[other], "__file__", None) or "")
            if file.startswith(f"{folder}/"):
                _keep_lines(file)
                del sys.modules[other]
    return module


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadSettings(f"rules: {path} cannot be read: {error.strerror or error}") from error


def _import_module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except BaseException as error:
        raise BadSettings(f"rules: the module {name} cannot be imported: {_at(error)}") from error


def _at(error: BaseException, file: str = "") -> str:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == file]
    line = f" (line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{line}"


def _check_names(module: ModuleType, name: str) -> None:
    """Raise BadSettings if *module* has no rule, or a function with a misspelt name."""
    own = [
        one
        for one, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    ]
    for one in own:
        close = [] if one in PARAMETERS else get_close_matches(one, PARAMETERS, 1, SIMILARITY)
        if close and not hasattr(module, close[0]):
            raise BadSettings(
                f"rules: {name} has no rule {one}: did you mean {close[0]}? Begin the name of "
                "another function with _"
            )
    if not any(hasattr(module, one) for one in PARAMETERS):
        raise BadSettings(f"rules: {name} has none of the functions {', '.join(PARAMETERS)}")


def _check_function(rule: str, function: Any, name: str) -> None:
    wanted = f"def {rule}({', '.join(PARAMETERS[rule])})"
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise BadSettings(f"rules: {rule} in {name} is not a plain function: write {wanted}")
    try:
        inspect.signature(function).bind(*PARAMETERS[rule])
    except TypeError as error:
        raise BadSettings(
            f"rules: {rule} in {name} has the wrong parameters: write {wanted}"
        ) from error
    except ValueError:
        return  # A function in C, which has no signature.


def _place_of(function: Any, file: str) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return Path(file).name
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def _validator_of(module: ModuleType, name: str) -> Callable[[Any], Any]:
    """Return the function that validates a row by `Model` or `schema` of *module*."""
    model, schema = getattr(module, "Model", None), getattr(module, "schema", None)
    if model is not None:
        if not hasattr(model, "model_validate"):
            raise BadSettings(f"rules: Model in {name} is not a pydantic model")
        return lambda row: model.model_validate(row).model_dump(mode="json")
    if schema is not None:
        return _schema_validator(schema, name)
    return lambda row: row.model_dump(mode="json") if hasattr(row, "model_dump") else row


def _schema_validator(schema: Any, name: str) -> Callable[[Any], Any]:
    try:
        from jsonschema.validators import validator_for
    except ImportError as error:
        raise BadSettings(
            f"rules: {name} has a schema, which needs the package jsonschema: pip install "
            "jsonschema, or use a pydantic Model"
        ) from error
    try:
        kind = validator_for(schema)
        kind.check_schema(schema)
        validator = kind(schema)
        # It loads its own schemas now, because the sandbox opens no file.
        validator.is_valid({})
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise BadSettings(f"rules: schema in {name} is not a JSON Schema: {reason}") from error

    def validate(row: Any) -> Any:
        row = msgspec.to_builtins(row)
        for error in validator.iter_errors(row):
            raise Nonsense(f"the schema refuses a row: {error.message} at {error.json_path}")
        return row

    return validate


def check_place(name: str, is_fleet: bool) -> None:
    """Raise BadSettings if the rules *name* are a file and the crawl is one of a fleet."""
    if is_fleet and is_file(name):
        raise BadSettings(
            f"rules: {name} is a file of this machine: name a module that is installed with each "
            "parser of the fleet"
        )


def locate(name: str, base: Path = Path()) -> str:
    """Return the absolute path of the rules file *name*, relative to *base*; a module's name
    stays."""
    return str((base / Path(name).expanduser()).resolve()) if is_file(name) else name


def identify_rules(crawl: CrawlDefined, base: Path = Path()) -> CrawlDefined:
    """Return *crawl* with the absolute path of its rules file, and its digest as it is now.

    Raise BadSettings if the file or the module does not exist.
    """
    if not crawl.rules:
        return replace(crawl, rules_digest="")
    name = locate(crawl.rules, base)
    if is_file(name):
        source = _read_file(Path(name))
    else:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None or spec.origin is None:
            raise BadSettings(
                f"rules: there is no module {name}: name a file ending with {FILE_ENDING}, or a "
                "module that is installed here and with each parser"
            )
        source = _read_file(Path(spec.origin))
    return replace(crawl, rules=name, rules_digest=hashlib.sha256(source).hexdigest()[:16])
