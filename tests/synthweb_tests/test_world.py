"""A world is determined by its numbers."""

from dataclasses import replace

from tests.synthweb import World
from tests.synthweb.__main__ import arguments
from tests.synthweb.answers import Answers
from tests.synthweb.atlas import Atlas
from tests.synthweb.oddities import CONDITIONS, FEATURES
from tests.synthweb.roles import cast, site_of
from tests.synthweb.truth import spot_of, truth_of

WORLD = World(seed=7, hosts=200, pages=4)


def everything(world: World) -> dict[str, bytes]:
    atlas = Atlas(world, 8080)
    answers = Answers(atlas)
    spots = {url: spot_of(atlas, url) for url in truth_of(atlas, atlas.seeds).required}
    return {u: answers.to(atlas.roles.names[h], path).body for u, (h, path) in spots.items()}


def test_same_numbers_give_the_same_bytes() -> None:
    assert everything(WORLD) == everything(replace(WORLD))


def test_another_seed_gives_another_world() -> None:
    assert everything(WORLD) != everything(replace(WORLD, seed=8))


def test_command_line_rebuilds_a_world() -> None:
    assert arguments(["--record=here", *WORLD.flags()])[0] == WORLD
    plain = arguments(["--record=here", "--plain", "--seed=4", "--robots=0.5"])[0]
    assert plain == World.plain(seed=4, robots=0.5)


def test_each_option_adds_all_of_its_kinds() -> None:
    roles = cast(WORLD)
    conditions = {kind for kinds in CONDITIONS.values() for kind in kinds}
    features = {kind for kinds in FEATURES.values() for kind in kinds}
    assert set(roles.conditions.values()) == conditions
    assert {kind for kinds in roles.features.values() for kind in kinds} == features


def test_at_least_half_of_the_hosts_are_sound() -> None:
    roles = cast(World(hosts=10, robots=1.0))
    assert len(roles.conditions) == 5
    assert 0 not in roles.conditions


def test_names_are_reserved_and_share_sites() -> None:
    names = cast(World(hosts=5000)).names
    assert len(set(names)) == 5000
    assert {name.rpartition(".")[2] for name in names} == {"example", "test"}
    assert len({site_of(name) for name in names}) < 2500
