"""A reader that fails costs the part that it reads, and the reason is known."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.services.parser.page import parse
from gossamer.services.parser.parts import Part
from gossamer.services.parser.pool.messages import Reply, Request, decode_reply, encode_reply
from gossamer.services.parser.pool.pool import PageTooLarge, Pool, ReaderFailed
from gossamer.services.parser.wiring import options_of
from gossamer.settings import Settings
from gossamer.settings.sections import ParserSettings
from gossamer.text import PAGE_FIELDS, PageField
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response

ROOT = Path(__file__).parents[2]
SENTENCES = "The council met on the second floor and spoke about the bridge and its repair. " * 5
BODY = (
    "<title>{}</title><meta name=author content='A. Doe'><nav>Menu</nav><article><h1>Bridge</h1>"
    f"<p>{SENTENCES}<p>{SENTENCES}<a href=/leaf>leaf</a><img src=/a.png></article>"
    "<form action=/search><input name=q></form>"
)


@pytest.fixture
async def pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Pool]:
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n"
        f"PYTHONPATH={ROOT} exec {sys.executable} -P -m tests.parser.failing $@\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    async with Pool(1, 30.0, 512 << 20) as pool:
        yield pool


async def read(pool: Pool, title: str) -> PageParsed:
    page = page_response(BODY.format(title).encode())
    return await pool.parse(Request(page, OPTIONS, NOW))


FIELDS: dict[str, tuple[str, Any]] = {
    Part.METADATA: ("author", ""),
    Part.HEADINGS: ("headings", ()),
    Part.LANGUAGE: ("language", ""),
    Part.MAIN_TEXT: ("text_kind", "visible"),
    Part.FORMS: ("forms", ()),
    Part.REQUISITES: ("requisites", ()),
}
"""A field of each part, and its value without the part."""


@pytest.mark.parametrize("left_out", PAGE_FIELDS)
def test_field_that_nobody_needs_is_left_out(left_out: PageField) -> None:
    fields = tuple(one for one in PAGE_FIELDS if one != left_out)
    options = options_of(Settings(parser=ParserSettings(fields=fields)))
    page = page_response(BODY.format("no failure").encode())
    whole, parsed = parse(page, OPTIONS, NOW), parse(page, options, NOW)
    for part, (field, value) in FIELDS.items():
        assert getattr(whole, field) != value
        assert getattr(parsed, field) == (value if part == left_out else getattr(whole, field))
    assert parsed.links == whole.links


@pytest.mark.slow
@pytest.mark.parametrize("how", ["crash", "raise", "exit", "leave", "hoard"])
async def test_page_is_read_without_the_part_on_which_a_reader_fails(pool: Pool, how: str) -> None:
    """dgtlmoon/changedetection.io#4272 and browser-use/browser-harness#676, the kind."""
    whole = await read(pool, "no failure")
    for part, (field, value) in FIELDS.items():
        parsed = await read(pool, f"{how} {part}")
        assert parsed.hazards == (Hazard.READER_FAILED,)
        assert (getattr(parsed, field), parsed.links) == (value, whole.links)
        others = [name for name, _ in FIELDS.values() if name != field]
        assert [getattr(parsed, name) for name in others] == [
            getattr(whole, name) for name in others
        ]
        assert "spoke about the bridge" in (parsed.text or "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("crash", "ended 2 times: SIGSEGV"),
        ("leave", "ended 2 times: exit status 3"),
        ("exit", "SystemExit: a library exits"),
        ("raise", "KeyError: 'half of an emoji"),
        ("hoard", "exceeds the memory limit"),
    ],
)
async def test_failure_outside_of_parts_is_poison_with_its_reason(
    pool: Pool, how: str, reason: str
) -> None:
    with pytest.raises(ReaderFailed, match=reason) as caught:
        await read(pool, f"{how} whole")
    assert isinstance(caught.value, PageTooLarge) == (how == "hoard")
    assert (await read(pool, "no failure")).title == "no failure"


@pytest.mark.parametrize(
    ("text", "sent"),
    [("a \ud83d", "a \ufffd"), ("\ude0a b", "\ufffd b"), ("\ud83d\ude0a", "😊"), ("😊", "😊")],
)
def test_any_text_of_a_reply_can_be_encoded(text: str, sent: str) -> None:
    """dgtlmoon/changedetection.io#4273, astro/bitlove-ui#24: half of an emoji."""
    whole = parse_response("<title>a")
    parsed = PageParsed(
        **{name: getattr(whole, name) for name in whole.__struct_fields__}
        | {"title": text, "open_graph": {text: text}, "linked_data": (text,), "markdown": text}
    )
    received = decode_reply(encode_reply(Reply(parsed, fault=text))).parsed
    assert received
    assert (received.title, received.markdown, received.linked_data) == (sent, sent, (sent,))
    assert received.open_graph == {sent: sent}
    assert (received.visit, received.digest, received.links) == (
        parsed.visit,
        parsed.digest,
        parsed.links,
    )
