"""The table of addresses, compared with that of Python: only public addresses are permitted."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network

from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.services.fetcher.addresses import NAT64_PREFIX_LENGTHS, may_connect, nat64_prefixes


@given(st.ip_addresses(v=4))
@example(IPv4Address("192.0.0.8"))
@example(IPv4Address("223.255.255.255"))
def test_permitted_addresses_are_public(address: IPv4Address) -> None:
    if may_connect(str(address), ()):
        assert address.is_global and not address.is_multicast


@given(st.ip_addresses(v=4))
def test_translated_address_is_treated_as_its_ipv4_address(address: IPv4Address) -> None:
    number = int(address)
    spelt = [
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(int(IPv6Address("64:ff9b::")) | number),
        IPv6Address(0x2002 << 112 | number << 80 | 1),
    ]
    assert {may_connect(str(one), ()) for one in spelt} == {may_connect(str(address), ())}


@given(st.ip_addresses(v=4), st.sampled_from(NAT64_PREFIX_LENGTHS), st.integers(0, 2**64 - 1))
def test_nat64_prefix_is_found_in_the_answer_for_its_name(
    address: IPv4Address, length: int, network: int
) -> None:
    prefix = IPv6Network((0x2A00 << 112 | network << 32, length), strict=False)

    def translate(one: str) -> str:
        octets, inner = bytearray(prefix.network_address.packed), list(IPv4Address(one).packed)
        for at in [at for at in range(length // 8, 16) if at != 8][:4]:
            octets[at] = inner.pop(0)
        return str(IPv6Address(bytes(octets)))

    learnt = nat64_prefixes([translate("192.0.0.170"), translate("192.0.0.171")])
    assert prefix in learnt
    if not may_connect(str(address), ()):
        assert not may_connect(translate(str(address)), (), [prefix])


def test_answer_without_translation_has_no_nat64_prefix() -> None:
    assert nat64_prefixes([]) == ()
    assert nat64_prefixes(["2a00::1"]) == ()
