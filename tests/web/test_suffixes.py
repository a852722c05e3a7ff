"""Sites are distinguished by the suffix list of the package only."""

import subprocess
import sys

from gossamer.web import suffixes
from gossamer.web.url import site_of

OWN = """
import sys, publicsuffixlist
publicsuffixlist.PSLFILE = "/nonexistent"
from gossamer.web.url import site_of
print(site_of("https://shop.someone.github.io/"), site_of("https://www.example.co.uk/"))
"""


def test_suffix_list_is_the_file_of_the_package() -> None:
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("someone.github.io example.co.uk\n", "")


def test_suffix_list_has_a_version_and_its_private_section() -> None:
    assert suffixes.packaged_list().version == "2026-10-22_08-36-41_UTC"
    assert suffixes.registrable_domain("github.io") == ""
    assert site_of("http://github.io/") == "github.io"
    assert suffixes.registrable_domain("a.b.xn--p1ai") == "b.xn--p1ai"
