"""`gossamer site`: settings of a site are set, shown, listed and removed."""

from pathlib import Path

import pytest
import trustme

from console.cli.main import main


def test_quiet_hours_are_set_shown_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")

    def run(*arguments: str, status: int = 0) -> str:
        assert main(["site", "--data", data, *arguments]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    assert main(["seed", "--data", data, "https://www.a.example/"]) == 0
    capsys.readouterr()
    assert "a.example: default settings" in run("a.example")
    run("https://www.a.example/x", "--quiet", "22:00-6:30")
    assert "a.example: quiet hours 22:00-06:30 UTC" in run("www.a.example")
    assert "default settings" in run("b.example")
    for wrong in ("8-9", "25:00-06:00", "06:00-06:00", "nightly"):
        assert "UTC" in run("a.example", "--quiet", wrong, status=2)
    assert "22:00-06:30" in run("a.example")
    assert "default settings" in run("a.example", "--quiet", "none")


def test_settings_of_a_site_are_kept_until_they_are_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")
    authority = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))

    def run(*arguments: str, command: str = "site", status: int = 0) -> str:
        assert main([command, "--data", data, *arguments]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    run("https://www.a.example/", command="seed")
    assert run() == "No site or host has settings of its own.\n"
    assert "at least 5 s between" in run("www.a.example", "--delay", "5")
    assert "exactly 0.2 s between" in run("a.example", "--delay", "0.2", "--ours")
    run("a.example", "--off", "--budget", "1000", "--certificate", str(authority))
    shown = run("a.example")
    for part in ("off", "exactly 0.2 s", "1,000 visits a day", "trusts 1 certificate, sha256:"):
        assert part in shown
    run("b.example", "--certificate", f"sha256:{':'.join(['AB'] * 32)}")
    assert "certificate sha256:abab" in run("b.example")
    assert [line.partition(":")[0] for line in run().splitlines()] == ["a.example", "b.example"]
    assert "overrides    2 sites" in run(command="status")
    assert "site: a.example: off, exactly" in run(
        "https://www.a.example/", "--verbose", command="why"
    )
    run("b.example", "--certificate", "none")
    taken_back = ("--no-off", "--no-ours", "--delay", "none", "--budget", "0", "--certificate")
    assert run("a.example", *taken_back, "none") == "a.example: default settings\n"
    assert run() == "No site or host has settings of its own.\n"
    for wrong in (("--delay", "soon"), ("--certificate", "nowhere.pem"), ("--off",)):
        site = () if wrong == ("--off",) else ("a.example",)
        assert run(*site, *wrong, status=2)


def test_settings_of_a_host_override_its_site(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")

    def run(*arguments: str, command: str = "site", status: int = 0) -> str:
        assert main([command, "--data", data, *arguments]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    run("https://www.a.example/", command="seed")
    run("a.example", "--delay", "5")
    shown = run("www.a.example", "--host", "--delay", "30", "--no-off", "--budget", "0")
    own = "not off, at least 30 s between two visits, any number of visits a day"
    site = "at least 5 s between two visits to a host"
    assert shown == f"a.example: {site}\nwww.a.example alone: {own}\n"
    assert run() == shown
    assert "overrides    1 site and 1 host" in run(command="status")
    shown = run("https://www.a.example/", "--verbose", command="why")
    assert f"site: a.example: {site}" in shown
    assert f"host: www.a.example alone: {own}" in shown
    assert "alone" not in run("https://b.a.example/", "--verbose", command="why")
    trusts = run("www.a.example", "--host", "--certificate", "none")
    assert "trusts the usual certificates" in trusts
    assert run("www.a.example", "--host", "--as-site") == f"a.example: {site}\n"
    assert "quiet hours hold for all hosts" in run(
        "www.a.example", "--host", "--quiet", "1:00-2:00", status=2
    )
    assert run("--host", status=2)
