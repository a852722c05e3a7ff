"""Generated webs whose useful pages are known. For `bench.worth`.

A web answers a URL with a page. Everything follows from a seed and the URL, so a web with endless
parts needs no memory for them.

`QualityWeb` has good and bad pages, and good pages mostly link to good pages. `NoveltyWeb` has
hosts of very different worth: news, forums, calendars, shops with facets, mirrors, one large honest
site, and many small ones.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from math import log
from random import Random
from typing import NamedTuple, Protocol
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

from gossamer.events.pages import LinkPosition

MAIN, NAVIGATION = LinkPosition.MAIN.value, LinkPosition.NAVIGATION.value
GOOD_SHARE = 0.2
GOOD_TO_GOOD = 0.7
"""Share of the links of good pages that lead to good pages."""
BAD_TO_GOOD = GOOD_SHARE * (1 - GOOD_TO_GOOD) / (1 - GOOD_SHARE)
"""Share of the links of bad pages that lead to good pages, so that a fifth of all links does."""
SYLLABLES = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]
WORDS = [first + last for first in SYLLABLES for last in SYLLABLES]
ENTRY_WORDS = 10
"""Words of an entry of a list, such as the name and the price of a product."""
MISLEADING_GOOD, MISLEADING_BAD = 0.1, 0.05
"""Share of the good pages whose text looks bad, and of the bad ones whose text looks good."""


class WebPage(NamedTuple):
    """The answer to a visit."""

    text: str
    """The name of the text. Pages with one name are copies."""
    words: int
    links: tuple[tuple[str, str], ...]
    """URL and position of each link."""
    useful: bool = True
    """Whether somebody would want the text. A useful text counts once, as a new text."""
    variation: int = 0
    """The number of a near duplicate; 0 is the text itself."""
    entries: tuple[str, ...] = ()
    """The names of the entries of a list page; () for other pages."""

    @property
    def body(self) -> str:
        """The words of the text. Near duplicates differ in one word."""
        if self.entries:
            found = (word for entry in self.entries for word in _words(entry, ENTRY_WORDS))
            return " ".join(found)
        words = _words(self.text, self.words)
        return " ".join((*words[1:], f"number{self.variation}") if self.variation else words)


def _words(name: str, number: int) -> list[str]:
    """Return the words of a text or of an entry by its name."""
    return Random(name).choices(WORDS, k=number)


class LinkedWeb(Protocol):
    """Pages and the URLs where a crawl of them starts."""

    seeds: Sequence[str]

    def page(self, url: str) -> WebPage:
        """Return the page of *url*."""
        ...


class QualityWeb:
    """*pages* pages on *hosts* hosts, a fifth of them good.

    The share of good pages differs by host. The quality of a link's target depends on the quality
    of the page. Half of the links stay on their host. The length and novelty of a text tell quality
    imperfectly.
    """

    def __init__(self, seed: int, pages: int, hosts: int, links: int = 10) -> None:
        random = Random(seed)
        self._seed, self._links, self.pages, self.hosts = seed, links, pages, hosts
        shares = [random.betavariate(0.8, 3.2) for _ in range(hosts)]
        self._host = [random.randrange(hosts) for _ in range(pages)]
        self.good = _draw_good(random, [shares[host] for host in self._host])
        self._by_quality = [[n for n in range(pages) if self.good[n] == good] for good in (0, 1)]
        self._of_host: dict[tuple[int, int], list[int]] = {}
        for n, host in enumerate(self._host):
            self._of_host.setdefault((host, self.good[n]), []).append(n)
        self.seeds: Sequence[str] = [self.url(n) for n in random.sample(range(pages), 10)]

    def url(self, number: int) -> str:
        """Return the URL of a page."""
        return f"http://host{self._host[number]}.example/pages/{number}"

    def number(self, url: str) -> int:
        """Return the number of the page at *url*."""
        return int(url.rsplit("/", 1)[1])

    def targets(self, number: int) -> list[int]:
        """Return the pages that a page links to."""
        random = Random(f"{self._seed} links {number}")
        to_good = GOOD_TO_GOOD if self.good[number] else BAD_TO_GOOD
        found = []
        for _ in range(self._links):
            good = int(random.random() < to_good)
            near = self._of_host.get((self._host[number], good), [])
            local = random.random() < 0.5 and len(near) > 1
            found.append(random.choice(near if local else self._by_quality[good]))
        return found

    def page(self, url: str) -> WebPage:
        """Return the page of *url*."""
        number = self.number(url)
        random = Random(f"{self._seed} text {number}")
        good = bool(self.good[number])
        looks_good = good == (random.random() >= (MISLEADING_GOOD if good else MISLEADING_BAD))
        links = tuple((self.url(n), MAIN) for n in self.targets(number))
        if looks_good:
            return WebPage(url, random.randint(200, 800), links, good)
        if random.random() < 0.5:
            return WebPage(url, random.randint(5, 40), links, good)
        return WebPage(f"boilerplate {self._host[number]}", 120, links, good, number)


def _draw_good(random: Random, shares: Sequence[float]) -> list[int]:
    """Return 1 for exactly a fifth of all pages and 0 for all others, mostly by their shares."""
    drawn = sorted(range(len(shares)), key=lambda n: random.random() / (shares[n] + 1e-9))
    good = set(drawn[: round(GOOD_SHARE * len(shares))])
    return [int(n in good) for n in range(len(shares))]


def ideal_visits(web: QualityWeb) -> Iterator[int]:
    """Yield the pages in the order of a crawler that knows the true quality of each visited page.

    It visits the URL next that is most likely good by all links that it has seen. No crawler that
    reads links alone does better.
    """
    from_good = log(GOOD_TO_GOOD / (1 - GOOD_TO_GOOD))
    from_bad = log(BAD_TO_GOOD / (1 - BAD_TO_GOOD))
    prior = log(GOOD_SHARE / (1 - GOOD_SHARE))
    evidence, heap, visited, count = dict[int, float](), list[tuple[float, int, int]](), set(), 0
    for url in web.seeds:
        heappush(heap, (0.0, count := count + 1, web.number(url)))
    while heap:
        _, _, number = heappop(heap)
        if number in visited:
            continue
        visited.add(number)
        yield number
        for target in web.targets(number):
            if target not in visited:
                gain = (from_good if web.good[number] else from_bad) - prior
                evidence[target] = evidence.get(target, 0.0) + gain
                heappush(heap, (-evidence[target], count := count + 1, target))


PRODUCTS_PER_LIST = 20
HostPage = Callable[[str, str, dict[str, str]], WebPage]
"""Host, path and parameters → the page."""


class NoveltyWeb:
    """Hosts of very different worth. *size* 1 has about 42,000 useful texts.

    Endless or duplicate parts: calendars, facets of shops, other views of forum threads, and
    mirrors of the news sites.
    """

    def __init__(self, seed: int, size: float = 1.0) -> None:
        self._seed = seed

        def scale(number: int) -> int:
            return max(1, round(number * size))

        self._small = scale(2000)
        self._large, self._articles, self._threads = scale(20_000), scale(1000), scale(600)
        self._products = scale(300)
        numbers = {"news": 5, "forum": 5, "calendar": 10, "shop": 10, "mirror": 5, "large": 1}
        self._kinds: dict[str, HostPage] = {
            "news": self._news,
            "mirror": self._news,
            "forum": self._forum,
            "calendar": self._calendar,
            "shop": self._shop,
            "large": self._large_site,
            "small": self._small_site,
        }
        self.seeds: Sequence[str] = [
            f"http://{kind}{n}.example/" for kind, count in numbers.items() for n in range(count)
        ] + [f"http://small{n}.example/" for n in range(min(20, self._small))]

    @property
    def useful_texts(self) -> int:
        """The number of useful texts of all hosts."""
        news = 5 * (self._articles + 1 + -(-self._articles // 20))
        forums = 5 * (self._threads + 1 + -(-self._threads // 20))
        others = 10 * 41 + 10 * (self._products + 1)
        return news + forums + others + self._large + 5 * self._small

    def kind(self, url: str) -> str:
        """Return the kind of the host of *url*."""
        name = (urlsplit(url).hostname or "").split(".")[0]
        return name.rstrip("0123456789")

    def page(self, url: str) -> WebPage:
        """Return the page of *url*."""
        parts = urlsplit(url)
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return self._kinds[self.kind(url)](parts.netloc, parts.path, parameters)

    def _random(self, *names: object) -> Random:
        return Random(f"{self._seed} {names}")

    def _news(self, host: str, path: str, parameters: dict[str, str]) -> WebPage:
        """Sections that list articles; articles that link to each other. A mirror has the texts of
        its original."""
        original, base = host.replace("mirror", "news"), f"http://{host}"
        sections = -(-self._articles // 20)
        menu = [(f"{base}/section/{n}", NAVIGATION) for n in range(min(sections, 10))]
        if path == "/":
            every = tuple((f"{base}/section/{n}", MAIN) for n in range(sections))
            return WebPage(f"{original} home", 200, every)
        number = int(path.rsplit("/", 1)[1])
        if path.startswith("/section/"):
            first = number * 20
            listed = range(first, min(first + 20, self._articles))
            links = [(f"{base}/article/{n}", MAIN) for n in listed]
            return WebPage(f"{original} section {number}", 150, (*menu, *links))
        random = self._random(original, number)
        others = [(f"{base}/article/{random.randrange(self._articles)}", MAIN) for _ in range(4)]
        return WebPage(f"{original} article {number}", random.randint(200, 700), (*menu, *others))

    def _forum(self, host: str, path: str, parameters: dict[str, str]) -> WebPage:
        """Threads with other views of the same text, a page for each reply, and empty profiles of
        members."""
        base, boards = f"http://{host}", -(-self._threads // 20)
        if path == "/":
            return WebPage(
                f"{host} home", 100, tuple((f"{base}/board/{n}", MAIN) for n in range(boards))
            )
        number = int(path.rsplit("/", 1)[1])
        if path.startswith("/board/"):
            first = number * 20
            listed = range(first, min(first + 20, self._threads))
            links = [(f"{base}/thread/{n}", MAIN) for n in listed]
            links += [(f"{base}/board/{number}?sort={how}", NAVIGATION) for how in ("new", "old")]
            return WebPage(f"{host} board {number}", 120, tuple(links))
        if path.startswith("/member/"):
            return WebPage(f"{host} member", 60, (), False, number)
        random = self._random(host, number)
        replies = random.randint(2, 20)
        links = [(f"{base}/thread/{number}?post={n}", MAIN) for n in range(replies)]
        links += [(f"{base}/thread/{number}?view={how}", MAIN) for how in ("print", "flat")]
        links += [(f"{base}/member/{random.randrange(10**6)}", MAIN) for _ in range(replies)]
        return WebPage(f"{host} thread {number}", random.randint(100, 500), tuple(links))

    def _calendar(self, host: str, path: str, parameters: dict[str, str]) -> WebPage:
        """Forty events, and a calendar without end. Half of the calendars have texts that are too
        short to be compared as near duplicates."""
        base = f"http://{host}"
        if path == "/":
            events = [(f"{base}/event/{n}", MAIN) for n in range(40)]
            return WebPage(f"{host} home", 150, (*events, (f"{base}/day?d=0", NAVIGATION)))
        if path.startswith("/event/"):
            day = self._random(host, path).randrange(1000)
            return WebPage(f"{host} {path}", 250, ((f"{base}/day?d={day}", MAIN),))
        day = int(parameters["d"])
        steps = (-30, -1, 1, 7, 30, 365)
        links = tuple((f"{base}/day?d={max(0, day + step)}", NAVIGATION) for step in steps)
        if crc32(host.encode()) % 2:
            return WebPage(f"{host} day {day}", 8, links, False)
        return WebPage(f"{host} day", 120, links, False, day)

    def _shop(self, host: str, path: str, parameters: dict[str, str]) -> WebPage:
        """Products, and lists of them by any combination of eight facets. Pages of a list, and ten
        kinds of products, lead to all products."""
        base = f"http://{host}"
        if path.startswith("/product/"):
            menu = (f"{base}/list?kind={crc32(path.encode()) % 10}", NAVIGATION)
            return WebPage(f"{host} {path}", 180, (menu,))
        facets = {name: int(value) for name, value in parameters.items()}
        if not facets:
            lists = [(f"{base}/list?kind={n}", NAVIGATION) for n in range(10)]
            return WebPage(f"{host} home", 150, tuple(lists))
        links = []
        for name in ("kind", "color", "size", "brand", "price", "sort", "page", "stock"):
            for value in range(4):
                query = "&".join(f"{k}={v}" for k, v in sorted({**facets, name: value}.items()))
                links.append((f"{base}/list?{query}", NAVIGATION))
        listed = [n for n in range(self._products) if _has_facets(n, facets)]
        if facets.get("sort", 0):
            self._random(host, facets["sort"]).shuffle(listed)
        first = PRODUCTS_PER_LIST * facets.get("page", 0)
        listed = listed[first : first + PRODUCTS_PER_LIST]
        if not listed:
            return WebPage(f"{host} nothing", 30, tuple(links), False)
        links += [(f"{base}/product/{n}", MAIN) for n in listed]
        entries = tuple(f"{host} {n}" for n in listed)
        name, order = f"{host} list {sorted(listed)}", facets.get("sort", 0)
        return WebPage(name, ENTRY_WORDS * len(listed), tuple(links), False, order, entries)

    def _large_site(self, host: str, path: str, parameters: dict[str, str]) -> WebPage:
        """A tree of pages with ten children each; every page has a text of its own."""
        number = 0 if path == "/" else int(path.rsplit("/", 1)[1])
        children = range(10 * number + 1, min(10 * number + 11, self._large))
        random = self._random(host, number)
        others = [random.randrange(1, max(2, self._large)) for _ in range(3)]
        links = [(f"http://{host}/{_folder(n)}/{n}", MAIN) for n in (*children, *others)]
        return WebPage(f"{host} {number}", random.randint(150, 600), tuple(links))

    def _small_site(self, host: str, path: str, parameters: dict[str, str]) -> WebPage:
        """Five pages; the home page links to three other small sites."""
        base = f"http://{host}"
        if path == "/":
            random = self._random(host)
            others = [
                (f"http://small{random.randrange(self._small)}.example/", MAIN) for _ in range(3)
            ]
            own = [(f"{base}/page/{n}", NAVIGATION) for n in range(1, 5)]
            return WebPage(f"{host} home", 150, (*own, *others))
        return WebPage(f"{host} {path}", 200, ((f"{base}/", NAVIGATION),))


def _has_facets(product: int, facets: dict[str, int]) -> bool:
    """Return whether the list of *facets* contains a product."""
    chosen = {name: value for name, value in facets.items() if name not in ("sort", "page")}
    if chosen.pop("kind", product % 10) != product % 10:
        return False
    return all(crc32(f"{name} {product}".encode()) % 4 == chosen[name] for name in chosen)


def _folder(number: int) -> str:
    """Return the folder of a page of the large site: about forty folders."""
    return f"part{number % 40}"


def share_reached(visits: Sequence[bool], wanted: int, share: float) -> int | None:
    """Return the number of visits after which *share* of *wanted* useful pages were found; None if
    they were not."""
    found, sums = 0, []
    for useful in visits:
        found += useful
        sums.append(found)
    at = bisect_left(sums, share * wanted)
    return at + 1 if at < len(sums) else None
