"""The name server, with hand-made packets."""

import struct

import pytest

from tests.synthweb import SynthWeb, World
from tests.synthweb_tests.talk import ask_tcp, ask_udp, query

A, AAAA = 1, 28


def parts(answer: bytes) -> tuple[int, int, int, bytes]:
    """Return the id, the code, the number of answers, and the address at the end."""
    identity, flags, _questions, answers = struct.unpack_from(">4H", answer)
    return identity, flags & 15, answers, answer[-4:] if answers else b""


def name_in(web: SynthWeb, condition: str) -> str:
    numbers = [n for n, kind in web.atlas.roles.conditions.items() if kind == condition]
    return web.atlas.roles.names[numbers[0]]


@pytest.mark.parametrize("ask", [ask_udp, ask_tcp])
def test_each_host_has_its_own_loopback_address(web: SynthWeb, ask: type[object]) -> None:
    for number in (0, 3):
        answer = ask(web.nameserver, query(web.atlas.roles.names[number]))  # type: ignore[call-arg]
        assert parts(answer) == (99, 0, 1, bytes((127, 1, 0, number)))  # type: ignore[arg-type]


def test_hosts_may_share_their_addresses() -> None:
    with SynthWeb(World.plain(hosts=5, crowd=2)) as web:
        found = [parts(ask_udp(web.nameserver, query(name)))[3] for name in web.atlas.roles.names]
    assert [address[-1] for address in found] == [0, 0, 1, 1, 2]


def test_ttl_is_the_one_of_the_world(web: SynthWeb) -> None:
    answer = ask_udp(web.nameserver, query(web.atlas.roles.names[0]))
    assert struct.unpack(">I", answer[-10:-6])[0] == web.world.ttl


def test_case_is_ignored_and_echoed(web: SynthWeb) -> None:
    asked = query(web.atlas.roles.names[0].upper())
    answer = ask_udp(web.nameserver, asked)
    assert parts(answer)[2] == 1
    assert answer[12 : len(asked)] == asked[12:]


def test_queries_of_other_types_have_no_answers(web: SynthWeb) -> None:
    assert parts(ask_udp(web.nameserver, query(web.atlas.roles.names[0], AAAA)))[1:3] == (0, 0)


def test_unknown_names_and_names_that_must_fail_do_not_exist(web: SynthWeb) -> None:
    for name in ("nobody.invalid", "zzz.site0.example", name_in(web, "unresolved")):
        assert parts(ask_udp(web.nameserver, query(name)))[1:3] == (3, 0)


def test_refusing_host_has_another_loopback_address(web: SynthWeb) -> None:
    answer = ask_udp(web.nameserver, query(name_in(web, "refused")))
    assert parts(answer)[3] == bytes((127, 9, 9, 9))


def test_invalid_query_has_a_format_error(web: SynthWeb) -> None:
    for rubbish in (b"\0\x63", b"\0\x63" + b"\xff" * 30, query("a.test")[:-3]):
        assert parts(ask_udp(web.nameserver, rubbish))[:2] == (99, 1)


def test_lookups_are_counted(web: SynthWeb) -> None:
    name = web.atlas.roles.names[3]
    before = web.lookups()[name]
    ask_udp(web.nameserver, query(name))
    ask_tcp(web.nameserver, query(name.upper(), AAAA))
    assert web.lookups()[name] == before + 2
