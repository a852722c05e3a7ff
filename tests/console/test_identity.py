"""`gossamer identity`: what an operator publishes, written and checked over loopback."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

import gossamer.console.identity_check
from gossamer.console.cli.main import main
from gossamer.services.fetcher.http.signing import read_signing_keys
from gossamer.web.signatures import DIRECTORY_PATH, DIRECTORY_TYPE
from tests.support.serving import NOTHING, Sent, serving
from tests.support.transcripts import Transcript

SETTINGS = """
[fetcher]
contact = "crawl@bot.example"
product = "ExampleSearchBot"
page = "https://bot.example/"
signature_agent = "https://bot.example"
signing_keys = "{keys}"
"""


class Published:
    """Files and headers by path, which a test may change."""

    def __init__(self, folder: Path) -> None:
        self.headers: dict[str, dict[str, str]] = json.loads((folder / "headers.json").read_text())
        self.bodies = {path: (folder / path.lstrip("/")).read_bytes() for path in self.headers}
        self.redirects = dict[str, str]()

    def answer(self, path: str) -> Sent:
        path = "/index.html" if path == "/" else path
        body, headers = self.bodies.get(path), self.headers.get(path, {})
        if target := self.redirects.get(path):
            return Sent(b"", 302, {"Location": target, **headers})
        return NOTHING if body is None else Sent(body, 200, headers)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    keys, file = tmp_path / "keys", tmp_path / "gossamer.toml"
    file.write_text(SETTINGS.format(keys=keys))
    assert main(["identity", "keys", "new", "--config", str(file)]) == 0
    return file


def write(config: Path, *more: str) -> Published:
    folder = config.parent / "www"
    arguments = ["--range", "192.0.2.8/30", "--purpose", "web search", *more]
    assert main(["identity", "write", str(folder), "--config", str(config), *arguments]) == 0
    return Published(folder)


Check = Callable[..., dict[str, tuple[bool, str]]]


@pytest.fixture
def check(config: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Return a function that checks what is published, and returns check → whether it is met, and
    what was found."""

    def run(published: Published, status: int = 1) -> dict[str, tuple[bool, str]]:
        with serving(published.answer) as base:
            capsys.readouterr()
            given = ["identity", "check", "--config", str(config), "--base", base]
            assert main([*given, "--json"]) == status
            found = json.loads(capsys.readouterr().out)
            assert main(given) == status
            text = capsys.readouterr().out
        musts = [one["must"] for one in found if one["must"]]
        assert musts == [1, 2, 3, 4, 5, 6]
        assert text.count("MUST ") == 6 and len(text.splitlines()) == len(found) + 1
        assert all(bool(one["remedy"]) != one["is_met"] for one in found)
        return {one["check"]: (one["is_met"], one["found"]) for one in found}

    return run


@pytest.fixture(autouse=True)
def named_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        gossamer.console.identity_check,
        "confirm_names",
        lambda address: (f"{address}.bot.example",),
    )


def test_what_is_written_passes_all_checks(config: Path, check: Check) -> None:
    found = check(write(config), 0)
    assert all(is_met for is_met, _ in found.values())
    assert "192.0.2.9.bot.example" in found["reverse DNS"][1]


def test_ranges_have_the_published_form(config: Path) -> None:
    published = write(config, "--range", "2001:db8::/64")
    found = json.loads(published.bodies["/client-ranges.json"])
    assert found["prefixes"] == [{"ipv4Prefix": "192.0.2.8/30"}, {"ipv6Prefix": "2001:db8::/64"}]
    assert found["creationTime"].endswith("Z") and found["synctoken"]
    page = LexborHTMLParser(published.bodies["/index.html"])
    [link] = page.css("link[rel=client-ranges]")
    assert link.attributes["href"] == "client-ranges.json"


def test_directory_contains_no_private_key(config: Path) -> None:
    published = write(config)
    [key] = read_signing_keys(config.parent / "keys")
    directory = json.loads(published.bodies[DIRECTORY_PATH])
    assert [jwk["kid"] for jwk in directory["keys"]] == [key.thumbprint]
    assert "d" not in directory["keys"][0]
    assert published.headers[DIRECTORY_PATH]["Content-Type"] == DIRECTORY_TYPE


def test_texts_of_the_settings_are_escaped(tmp_path: Path) -> None:
    config = tmp_path / "gossamer.toml"
    config.write_text('[fetcher]\ncontact = "https://x/\'><script>alert(1)</script>"\n')
    folder = tmp_path / "www"
    evil = "<script>alert(2)</script> & 'more'"
    given = ["identity", "write", str(folder), "--config", str(config), "--purpose", evil]
    assert main(given) == 0
    page = LexborHTMLParser((folder / "index.html").read_bytes())
    assert not page.css("script")
    assert [node.text() for node in page.css("li")] == [evil]


@pytest.mark.parametrize(
    ("path", "old", "new", "failing"),
    [
        ("/index.html", b"ExampleSearchBot", b"Other", {"page"}),
        ("/index.html", b"Disallow", b"Allow", {"page"}),
        ("/index.html", b"ender", b"how", {"page"}),
        ("/index.html", b"crawl@bot.example", b"", {"page"}),
        ("/index.html", b'rel="client-ranges"', b"", {"addresses", "reverse DNS"}),
        ("/client-ranges.json", b"creationTime", b"when", {"addresses", "reverse DNS"}),
        ("/client-ranges.json", b"192.0.2.8/30", b"anywhere", {"addresses", "reverse DNS"}),
        (DIRECTORY_PATH, b'"use":"sig"', b'"use":"enc"', {"keys: signatures"}),
        (DIRECTORY_PATH, b'"kid":"', b'"kid":"x', {"keys", "keys: signatures"}),
        (DIRECTORY_PATH, b'"use":', b'"d":"AAAA","use":', {"keys"}),
        (DIRECTORY_PATH, b'"keys"', b'"key"', {"keys"}),
    ],
)
def test_each_fault_fails_its_check(
    config: Path,
    check: Check,
    path: str,
    old: bytes,
    new: bytes,
    failing: set[str],
) -> None:
    published = write(config)
    assert old in published.bodies[path]
    published.bodies[path] = published.bodies[path].replace(old, new)
    found = check(published)
    assert {name for name, (is_met, _) in found.items() if not is_met} == failing - {"reverse DNS"}
    assert ("reverse DNS" in found) == ("reverse DNS" not in failing)


def test_missing_headers_and_redirects_fail(config: Path, check: Check) -> None:
    published = write(config)
    published.headers[DIRECTORY_PATH] = {"Content-Type": "application/json"}
    found = check(published)
    assert not found["keys: type"][0] and not found["keys: signatures"][0]
    published.redirects[DIRECTORY_PATH] = "/index.html"
    assert check(published)["keys"] == (
        False,
        f"https://bot.example{DIRECTORY_PATH}: status 302",
    )


def test_signatures_that_end_soon_fail(config: Path, check: Check) -> None:
    found = check(write(config, "--valid", "2h"))
    assert not found["keys: signatures"][0]


def test_key_that_is_not_published_fails(config: Path, check: Check) -> None:
    published = write(config)
    assert main(["identity", "keys", "new", "--config", str(config), "--after", "2d"]) == 0
    found = check(published)
    assert not found["keys"][0] and "lacks the key" in found["keys"][1]
    assert check(write(config), 0)["keys: signatures"] == (True, "2 valid")


def test_address_without_a_confirmed_name_fails(
    config: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_name(address: str) -> tuple[str, ...]:
        raise OSError

    monkeypatch.setattr(gossamer.console.identity_check, "confirm_names", no_name)
    found = check(write(config))
    assert not found["reverse DNS"][0]


def test_settings_that_break_a_must_fail(config: Path, check: Check) -> None:
    published = write(config)
    text = config.read_text().replace("ExampleSearchBot", "gossamer").replace("page =", "# page =")
    config.write_text(text + "[frontier]\ndelay = 0\n[parser]\nnot_indexed = []\n")
    found = check(published)
    failing = {name for name, (is_met, _) in found.items() if not is_met}
    assert failing == {"robots.txt", "user agent", "load", "addresses", "page"}


def test_created_keys_are_private_and_rotate(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert main(["identity", "keys", "new", str(folder)]) == 0
    assert main(["identity", "keys", "new", str(folder), "--after", "2d", "--lifetime", "90d"]) == 0
    files = sorted(folder.iterdir())
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    first, second = read_signing_keys(folder)
    assert second.not_before - first.not_before >= 2 * 86400 - 1
    assert second.expires_at - second.not_before == 90 * 86400


def test_wrong_range_and_missing_contact_are_refused(
    config: Path, tmp_path: Path, transcript: Transcript
) -> None:
    folder = tmp_path / "www"
    transcript("identity", "write", folder, "--config", config, "--range", "here", status=2)
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    transcript("identity", "write", folder, "--config", empty, status=2)
