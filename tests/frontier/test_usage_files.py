"""Usage files are visited after robots.txt and before the pages of their host."""

from collections.abc import Mapping

from msgspec.structs import replace

from gossamer.events import CrawlDefined, HostCheckedOut, Outcome, Purpose
from gossamer.web.robots import LicenseLine, RobotsRules
from gossamer.web.url import HostKey, Site
from gossamer.web.usage import License, Source, Statement
from gossamer.web.usage.files import FileStatement, UsageFile, statements_about
from tests.frontier.simulation import START, Simulation

HOST = HostKey("http://a.test")
TDMREP, LICENSE = f"{HOST}/.well-known/tdmrep.json", f"{HOST}/license.xml"
ELSEWHERE = "https://licenses.test/1.xml"
RESERVED = Statement(Source.TDMREP, "entry 1", "{}", {"train-ai": False})
PAID = Statement(Source.LICENSE, "license 1", "", {"search": False}, License(LICENSE))
DAY = 86400.0


class Web:
    """A host with a robots.txt that names licenses, and usage files."""

    def __init__(self, *licenses: str) -> None:
        self.licenses = [LicenseLine(url, line) for line, url in enumerate(licenses, 1)]
        self.robots_lines, self.age = "", DAY
        self.trouble: dict[str, Mapping[str, object]] = {}
        self.sim: Simulation

    def __call__(self, url: str) -> Mapping[str, object]:
        if url in self.trouble:
            return self.trouble[url]
        now = self.sim.now
        if url.endswith("/robots.txt"):
            rules = RobotsRules(
                lines=self.robots_lines,
                fetched_at=now,
                expires_at=now + 100 * DAY,
                status=200,
                licenses=tuple(self.licenses),
            )
            return {"robots": rules}
        if url in (TDMREP, LICENSE):
            found = FileStatement("/", RESERVED if url == TDMREP else PAID)
            return {"usage_file": UsageFile(url, (found,), "", now, now + self.age, 200)}
        return {}


def simulate(web: Web, setting: str = "always") -> Simulation:
    def answer(url: str) -> Mapping[str, object]:
        web.sim = sim
        return web(url)

    sim = Simulation(answer, usage_files=setting)
    web.sim = sim
    return sim


def page_orders(sim: Simulation) -> list[HostCheckedOut]:
    return [order for _, order in sim.orders if order.visits[0].purpose is Purpose.PAGE]


def test_usage_files_are_visited_again_when_they_expire() -> None:
    web = Web(LICENSE)
    web.age = 3600.0
    sim = simulate(web, "when needed")
    sim.admit(f"{HOST}/0")
    sim.run(START + 1800)
    sim.admit(f"{HOST}/1")
    sim.run(START + 2000)
    assert [url for _, _, url in sim.visits].count(LICENSE) == 1
    sim.now = START + DAY
    sim.admit(f"{HOST}/2")
    sim.run(START + DAY + 100)
    assert [url for _, _, url in sim.visits][-2:] == [LICENSE, f"{HOST}/2"]


def test_setting_decides_which_usage_files_are_visited() -> None:
    for setting, expected in (
        ("always", {TDMREP, LICENSE}),
        ("when needed", {LICENSE}),
        ("never", set()),
    ):
        sim = simulate(Web(LICENSE), setting)
        sim.admit(f"{HOST}/0")
        sim.run(START + DAY / 2)
        assert {url for _, _, url in sim.visits} & {TDMREP, LICENSE} == expected


def test_failures_of_usage_files_do_not_block_their_host() -> None:
    for outcome in Outcome:
        if outcome in (Outcome.UNVISITED, Outcome.PAGE):
            continue
        web = Web(LICENSE)
        web.trouble[TDMREP] = web.trouble[LICENSE] = {"outcome": outcome}
        sim = simulate(web)
        sim.admit(f"{HOST}/0")
        sim.run(START + 30 * DAY)
        assert sim.pages()[-1] == f"{HOST}/0", outcome
        assert TDMREP in sim.pages(), outcome
        assert page_orders(sim)[0].usage_files[0].statements[0].statement.says == {}


def test_statements_stay_in_force_while_the_server_fails() -> None:
    web = Web()
    web.age = 3600.0
    sim = simulate(web)
    sim.admit(f"{HOST}/0")
    sim.run(START + 1800)
    web.trouble[TDMREP] = {"outcome": Outcome.SERVER_ERROR}
    sim.now = START + DAY
    sim.admit(f"{HOST}/1")
    sim.run(START + DAY + 600)
    assert statements_about(page_orders(sim)[-1].usage_files, f"{HOST}/1") == (RESERVED,)
    web.trouble[TDMREP] = {
        "outcome": Outcome.GONE,
        "usage_file": UsageFile(TDMREP, (), "404", START, START + 9 * DAY, 404),
    }
    sim.now = START + 2 * DAY
    sim.admit(f"{HOST}/2")
    sim.run(START + 2 * DAY + 600)
    assert page_orders(sim)[-1].usage_files == ()


def test_statements_of_a_file_that_was_cut_count() -> None:
    web = Web()
    cut = UsageFile(TDMREP, (FileStatement("/", RESERVED),), "cut", START, START + DAY, 200)
    web.trouble[TDMREP] = {"outcome": Outcome.CUT_BODY, "usage_file": cut}
    sim = simulate(web)
    sim.admit(f"{HOST}/0")
    sim.run(START + 30 * DAY)
    assert statements_about(page_orders(sim)[0].usage_files, f"{HOST}/0") == (RESERVED,)


def test_license_of_another_host_is_a_statement_and_not_visited() -> None:
    sim = simulate(Web(ELSEWHERE), "when needed")
    sim.admit(f"{HOST}/0")
    sim.run(START + DAY / 2)
    assert sim.pages() == [f"{HOST}/0"]
    (found,) = statements_about(page_orders(sim)[0].usage_files, f"{HOST}/0")
    assert (found.source, found.place, found.says) == (Source.LICENSE, "robots.txt line 1", {})
    assert found.license == License(ELSEWHERE)


def test_disallowed_usage_file_is_not_visited() -> None:
    web = Web(LICENSE)
    web.robots_lines = "3 - /license"
    sim = simulate(web, "when needed")
    sim.admit(f"{HOST}/0")
    sim.run(START + DAY / 2)
    assert sim.pages() == [f"{HOST}/0"]


def test_host_without_pages_to_visit_has_no_visits_to_usage_files() -> None:
    sim = simulate(Web())
    sim.admit(f"{HOST}/0")
    sim.handle(CrawlDefined(at=START, scope="not any()", max_depth=16))
    sim.run(START + DAY / 2)
    assert sim.visits == []


def test_visit_to_a_usage_file_that_no_fetcher_ends_is_given_up() -> None:
    sim = simulate(Web())
    sim.admit(f"{HOST}/0")
    for _ in range(50):
        sim.run(steps=1)
        if sim.orders and sim.orders[-1][1].visits[0].purpose is Purpose.USAGE:
            sim.report_begun(sim.orders[-1][1])
            sim.lose()
    assert sim.pages()[-1] == f"{HOST}/0"


def test_usage_files_survive_a_restart_and_a_new_robots_txt() -> None:
    web = Web()
    sim = simulate(web)
    sim.admit(f"{HOST}/0")
    sim.run(START + 600)
    sim.start()
    host = sim.partition(Site("a.test")).find(Site("a.test"), HOST)
    rules = sim.partition(Site("a.test")).robots(host)
    assert rules
    sim.partition(Site("a.test")).learn_robots(host, replace(rules, usage_files=()))
    sim.admit(f"{HOST}/1")
    sim.run(START + 1200)
    assert [url for _, _, url in sim.visits].count(TDMREP) == 1
    assert statements_about(page_orders(sim)[-1].usage_files, f"{HOST}/1") == (RESERVED,)
