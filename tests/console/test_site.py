"""`gossamer site`: settings of a site are set, shown, listed and removed."""

from pathlib import Path

import trustme

from tests.console.gossamer import Gossamer


def test_quiet_hours_are_set_shown_and_removed(gossamer: Gossamer) -> None:
    run = gossamer.command("site")
    gossamer("seed", "https://www.a.example/")
    run("a.example")
    run("https://www.a.example/x", "--quiet", "22:00-6:30")
    run("www.a.example")
    run("b.example")
    for wrong in ("8-9", "25:00-06:00", "06:00-06:00", "nightly"):
        run("a.example", "--quiet", wrong, status=2)
    run("a.example")
    run("a.example", "--quiet", "none")


def test_settings_of_a_site_are_kept_until_they_are_removed(
    gossamer: Gossamer, tmp_path: Path
) -> None:
    run = gossamer.command("site")
    authority = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))
    gossamer("seed", "https://www.a.example/")
    run()
    run("www.a.example", "--delay", "5")
    run("a.example", "--delay", "0.2", "--ours")
    run("a.example", "--off", "--budget", "1000", "--certificate", str(authority))
    run("a.example")
    run("b.example", "--certificate", f"sha256:{':'.join(['AB'] * 32)}")
    assert "sha256:abab" in run("b.example")
    assert [line.partition(":")[0] for line in run().splitlines()] == ["a.example", "b.example"]
    gossamer("status")
    gossamer("why", "https://www.a.example/", "--verbose")
    policy = run("b.example", "--certificate", "record")
    assert "visited in spite of an invalid certificate" in policy
    run("b.example", "--certificate", "none")
    taken_back = ("--no-off", "--no-ours", "--delay", "none", "--budget", "0", "--certificate")
    run("a.example", *taken_back, "none")
    run()
    for wrong in (("--delay", "soon"), ("--certificate", "nowhere.pem"), ("--off",)):
        site = () if wrong == ("--off",) else ("a.example",)
        run(*site, *wrong, status=2)


def test_settings_of_a_host_override_its_site(gossamer: Gossamer) -> None:
    run = gossamer.command("site")
    gossamer("seed", "https://www.a.example/")
    run("a.example", "--delay", "5")
    run("www.a.example", "--host", "--delay", "30", "--no-off", "--budget", "0")
    run()
    gossamer("status")
    gossamer("why", "https://www.a.example/", "--verbose")
    gossamer("why", "https://b.a.example/", "--verbose")
    run("www.a.example", "--host", "--certificate", "none")
    run("www.a.example", "--host", "--as-site")
    run("www.a.example", "--host", "--quiet", "1:00-2:00", status=2)
    run("--host", status=2)
