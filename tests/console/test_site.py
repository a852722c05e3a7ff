"""`gossamer site`: settings of a site are set, shown, listed and removed."""

from pathlib import Path

import trustme

from tests.support.transcripts import Transcript


def test_quiet_hours_are_set_shown_and_removed(tmp_path: Path, transcript: Transcript) -> None:
    data = str(tmp_path / "data")

    def run(*arguments: str, status: int = 0) -> str:
        return transcript("site", "--data", data, *arguments, status=status)

    transcript("seed", "--data", data, "https://www.a.example/")
    run("a.example")
    run("https://www.a.example/x", "--quiet", "22:00-6:30")
    run("www.a.example")
    run("b.example")
    for wrong in ("8-9", "25:00-06:00", "06:00-06:00", "nightly"):
        run("a.example", "--quiet", wrong, status=2)
    run("a.example")
    run("a.example", "--quiet", "none")


def test_settings_of_a_site_are_kept_until_they_are_removed(
    tmp_path: Path, transcript: Transcript
) -> None:
    data = str(tmp_path / "data")
    authority = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))

    def run(*arguments: str, command: str = "site", status: int = 0) -> str:
        return transcript(command, "--data", data, *arguments, status=status)

    run("https://www.a.example/", command="seed")
    run()
    run("www.a.example", "--delay", "5")
    run("a.example", "--delay", "0.2", "--ours")
    run("a.example", "--off", "--budget", "1000", "--certificate", str(authority))
    run("a.example")
    run("b.example", "--certificate", f"sha256:{':'.join(['AB'] * 32)}")
    assert "sha256:abab" in run("b.example")
    assert [line.partition(":")[0] for line in run().splitlines()] == ["a.example", "b.example"]
    run(command="status")
    run("https://www.a.example/", "--verbose", command="why")
    policy = run("b.example", "--certificate", "record")
    assert "visited in spite of an invalid certificate" in policy
    run("b.example", "--certificate", "none")
    taken_back = ("--no-off", "--no-ours", "--delay", "none", "--budget", "0", "--certificate")
    run("a.example", *taken_back, "none")
    run()
    for wrong in (("--delay", "soon"), ("--certificate", "nowhere.pem"), ("--off",)):
        site = () if wrong == ("--off",) else ("a.example",)
        run(*site, *wrong, status=2)


def test_settings_of_a_host_override_its_site(tmp_path: Path, transcript: Transcript) -> None:
    data = str(tmp_path / "data")

    def run(*arguments: str, command: str = "site", status: int = 0) -> str:
        return transcript(command, "--data", data, *arguments, status=status)

    run("https://www.a.example/", command="seed")
    run("a.example", "--delay", "5")
    run("www.a.example", "--host", "--delay", "30", "--no-off", "--budget", "0")
    run()
    run(command="status")
    run("https://www.a.example/", "--verbose", command="why")
    run("https://b.a.example/", "--verbose", command="why")
    run("www.a.example", "--host", "--certificate", "none")
    run("www.a.example", "--host", "--as-site")
    run("www.a.example", "--host", "--quiet", "1:00-2:00", status=2)
    run("--host", status=2)
