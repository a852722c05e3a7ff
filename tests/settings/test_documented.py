"""`docs/configuration.md` describes every setting."""

import re
import tomllib
from pathlib import Path

import pytest

from gossamer.schemas import configuration
from gossamer.settings import Settings, load_settings

PAGE = configuration.PAGE.read_text(encoding="utf-8")
SETTINGS = {
    (section, name): setting
    for section, schema in configuration.sections().items()
    for name, setting in schema["properties"].items()
}


def test_configuration_page_does_not_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "somewhere-else")
    assert configuration.text() == PAGE


@pytest.mark.parametrize(("section", "name"), SETTINGS)
def test_setting_has_description_unit_and_default(section: str, name: str) -> None:
    setting = SETTINGS[section, name]
    description = setting.get("description", "")
    assert re.match(r"[A-Z`].*[.`)]$", description, re.DOTALL), f"no description: {description!r}"
    assert configuration.unit_of(setting), "no unit: see gossamer/settings/units.py"
    assert "default" in setting or "default_is" in setting, "no default"


@pytest.mark.parametrize("section", configuration.sections())
def test_section_has_docstring(section: str) -> None:
    kind = Settings.model_fields[section].annotation
    assert kind and kind.__doc__


def test_example_in_configuration_page_is_valid(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "gossamer.toml"
    file.write_text(example, encoding="utf-8")
    settings = load_settings(file)
    for section, values in tomllib.loads(example).items():
        assert getattr(settings, section).model_fields_set == set(values)
