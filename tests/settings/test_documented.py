"""`docs/configuration.md` is what the settings are, and says something about each."""

import re
import tomllib
from pathlib import Path

import pytest

from gossamer.settings import Settings, load_settings
from schemas import configuration

PAGE = configuration.FILE.read_text(encoding="utf-8")
SETTINGS = {
    (section, name): setting
    for section, schema in configuration.sections().items()
    for name, setting in schema["properties"].items()
}


def test_the_page_is_what_the_settings_say(tmp_path: Path) -> None:
    configuration.main(tmp_path / "configuration.md")
    assert (tmp_path / "configuration.md").read_text(encoding="utf-8") == PAGE, (
        "run scripts/schemas"
    )


def test_the_page_is_the_same_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "somewhere-else")
    assert configuration.text() == PAGE


@pytest.mark.parametrize(("section", "name"), SETTINGS)
def test_a_setting_has_a_sentence_and_a_unit(section: str, name: str) -> None:
    setting = SETTINGS[section, name]
    sentence = setting.get("description", "")
    assert re.match(r"[A-Z`].*[.`)]$", sentence, re.DOTALL), f"no sentence: {sentence!r}"
    assert configuration.unit_of(setting), "no unit: see gossamer/settings/units.py"
    assert "default" in setting or "default_is" in setting, "no default"


@pytest.mark.parametrize("section", configuration.sections())
def test_a_section_says_what_it_is(section: str) -> None:
    kind = Settings.model_fields[section].annotation
    assert kind and kind.__doc__


def test_the_example_can_be_copied(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "gossamer.toml"
    file.write_text(example, encoding="utf-8")
    settings = load_settings(file)
    for section, values in tomllib.loads(example).items():
        assert getattr(settings, section).model_fields_set == set(values)
