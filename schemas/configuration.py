"""Writes `docs/configuration.md` from the classes of the settings.

python -m schemas.configuration [FILE]      (what scripts/schemas runs)
"""

import json
import sys
from pathlib import Path
from typing import Any

from gossamer.settings import Settings
from gossamer.settings.load import DELIMITER, OTHER_VARIABLES, PREFIX
from schemas.markdown import table

FILE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"

Schema = dict[str, Any]

HEAD = """\
<!-- Written by scripts/schemas from gossamer/settings; change it there. -->
# Configuration

Nothing has to be set but the contact that fetchers send with every request. All other settings
have a default. They come from three sources, and the first that has a setting wins:

1. **The command line**: an option such as `--delay 2`; see `--help` of each command.
2. **The environment**: `GOSSAMER_FRONTIER__DELAY=2`, two underscores between table and setting.
3. **A TOML file**, named by `--config FILE` or, without that, by `GOSSAMER_CONFIG`:

   ```toml
   [frontier]
   delay = 2.0

   [fetcher]
   contact = "you@example.org"
   allow_networks = ["10.0.0.0/8"]
   ```

They are merged setting by setting: a table may be partly in the file, partly in the environment.
An unknown name, in the file or behind `GOSSAMER_` in the environment, and a value that makes no
sense are refused with the name of the setting before anything starts (exit status 2).

- **Lists** are TOML lists in the file, and JSON in the environment:
  `GOSSAMER_CASSANDRA__HOSTS='["a", "b"]'`.
- **Durations** are in seconds, fractions allowed; **sizes** are in bytes.
- **Secrets** (`kafka.password`, `cassandra.password`) have no default, and no message or log shows
  them. Better than in the environment they are in a file that is mounted, which `password_file`
  names.

"""


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the whole page."""
    tables = [_table(name, section) for name, section in sections().items()]
    return HEAD + "\n".join([*tables, _other_variables()])


def sections() -> dict[str, Schema]:
    """Return the JSON Schema of each section by its name in TOML."""
    schema = Settings.model_json_schema()
    return {
        name: schema["$defs"][field["$ref"].rpartition("/")[2]]
        for name, field in schema["properties"].items()
    }


def unit_of(setting: Schema) -> str:
    """Return what *setting* is measured or written in; "" if nothing says so."""
    if "unit" in setting:
        bounds = [f"{setting[key]:g}" for key in ("minimum", "maximum") if key in setting]
        return f"{setting['unit']}, {' to '.join(bounds)}" if len(bounds) == 2 else setting["unit"]
    if "enum" in setting:
        return "one of " + ", ".join(f"`{value}`" for value in setting["enum"])
    if setting.get("type") == "boolean":
        return "`true` or `false`"
    formats = {one.get("format") for one in (setting, *setting.get("anyOf", ()))}
    return next((what for key, what in FORMATS.items() if key in formats), "")


FORMATS = {"path": "path", "password": "secret"}


def _table(name: str, section: Schema) -> str:
    rows = [
        (f"`{key}`", f"`{variable(name, key)}`", unit_of(one), _default(one), _words(one))
        for key, one in section["properties"].items()
    ]
    head = ("setting", "environment", "unit", "default", "what it is")
    return "\n".join([f"## `[{name}]`\n", f"{_words(section)}\n", *table(head, rows), ""])


def variable(section: str, setting: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{section}{DELIMITER}{setting}".upper()


def _other_variables() -> str:
    rows = ((f"`{name}`", what) for name, what in OTHER_VARIABLES.items())
    return "\n".join(
        [
            "## Other variables\n",
            "These are read before there are settings, and are in no file.\n",
            *table(("environment", "what it is"), rows),
            "",
        ]
    )


def _words(schema: Schema) -> str:
    return " ".join(schema.get("description", "").split())


def _default(setting: Schema) -> str:
    if "default_is" in setting:
        return str(setting["default_is"])
    value = setting["default"]
    if value in ("", None, []):
        return "none"
    return f"`{json.dumps(value)}`{_readable(value, setting.get('unit', ''))}"


def _readable(value: Any, unit: str) -> str:
    for size, name in SCALES.get(unit, ()):
        if value >= size:
            return f" ({value / size:g} {name})"
    return ""


SCALES = {
    "seconds": ((86400, "d"), (3600, "h"), (60, "min")),
    "bytes": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")),
}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
