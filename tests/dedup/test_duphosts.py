"""The heuristics for duplicate hosts on a small generated web. `bench.duphosts` has a large one."""

from bench.duphosts import HEURISTIC_NAMES, Web, measure, table


def test_small_table_of_duphosts_has_the_order_of_the_paper() -> None:
    web = Web(hosts=60, seed=3)
    results = {name: measure(web, name) for name in HEURISTIC_NAMES}
    assert results["same_home"].replicas > results["dups100"].replicas
    assert results["same_home"].precision < results["dups80"].precision
    by_default = results["dups80"]
    assert by_default.precision >= 0.95 and by_default.lost <= 0.01 and by_default.visited <= 10
    lines = [*table([*results.values()])]
    assert [line.split()[0] for line in lines] == ["heuristic", *HEURISTIC_NAMES.values()]
