"""Honest sites that look like traps: a crawler that ends traps by the form of URLs loses them."""

from functools import cached_property
from itertools import pairwise

from tests.synthweb.answers import Answer

from . import words
from .page import Link, Page
from .site import Plan, Site

STORIES, STORIES_OF_A_PAGE = 48, 8
YEARS = (2023, 2024)
BLOGS, MIN_PAGES_OF_A_BLOG = 10, 4
CATEGORIES = ("bags", "boots", "coats", "hats", "rugs", "shirts", "socks", "tents")
PRODUCTS_OF_A_CATEGORY = 4


class QuerySite(Site):
    """All pages have one path and differ in a number in the query."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        grouped = [path for group in self.groups.values() for path in group]
        moved = {path: f"/index.php?id={n}" for n, path in enumerate(grouped, 100)}
        self.groups = {
            moved.get(key, key): [moved[path] for path in group]
            for key, group in self.groups.items()
        }


class DeepSite(Site):
    """The articles of a section are in folders of each other."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        for section, (_, *articles) in list(self.groups.items())[1:]:
            slugs = [path.removeprefix(section).removesuffix(".html") for path in articles]
            ends = range(1, len(slugs) + 1)
            deep = [f"{section}{'/'.join(slugs[:end])}/" for end in ends]
            self.groups[section] = [section, *deep]


class Archive(Site):
    """Stories that only a list of many pages links, each of which has little text."""

    first_list = "/archive"

    def listed_paths(self) -> list[str]:
        return [f"/story/{number}.html" for number in range(STORIES)]

    @cached_property
    def lists(self) -> dict[str, list[str]]:
        """Return the links of each list."""
        stories, lists = self.listed_paths(), {}
        count = STORIES // STORIES_OF_A_PAGE
        for number in range(count):
            following = [f"/archive?page={number + 1}"] if number + 1 < count else []
            first = number * STORIES_OF_A_PAGE
            path = f"/archive?page={number}" if number else "/archive"
            lists[path] = [*stories[first : first + STORIES_OF_A_PAGE], *following]
        return lists

    def is_needed(self, host: str, target: str) -> bool:
        return host == self.name and target in self.lists

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.menu.append(Link(self.first_list, "Archive"))

    def trap(self, host: str, target: str) -> Answer:
        links = self.lists.get(target) if host == self.name else None
        if links is None:
            return super().trap(host, target)
        page = self.framed(host, target, "Archive", ["Choose a page."])
        page.lists = [Link(to, self.headline(to)) for to in links]
        return page.answer()


class DatedArchive(Archive):
    """Stories under their dates, with lists of years and months."""

    first_list = "/dates/"

    def listed_paths(self) -> list[str]:
        months = [f"/dates/{year}/{month:02}/" for year in YEARS for month in range(1, 13)]
        return [
            f"{month}{day:02}/{self.rng(month, str(day)).choice(words.NOUNS)}"
            for month in months
            for day in (4, 17)
        ]

    @cached_property
    def lists(self) -> dict[str, list[str]]:
        lists: dict[str, list[str]] = {}
        for path in self.listed_paths():
            _, root, year, month, *_ = path.split("/")
            folders = [f"/{root}/", f"/{root}/{year}/", f"/{root}/{year}/{month}/", path]
            for folder, below in pairwise(folders):
                if below not in lists.setdefault(folder, []):
                    lists[folder].append(below)
        return lists


class Categories(Archive):
    """Products that only the values of one parameter link."""

    first_list = "/shop"

    def listed_paths(self) -> list[str]:
        numbers = range(PRODUCTS_OF_A_CATEGORY)
        return [f"/shop/{category}-{n}.html" for category in CATEGORIES for n in numbers]

    @cached_property
    def lists(self) -> dict[str, list[str]]:
        queries = {category: f"/shop?category={category}" for category in CATEGORIES}
        products = self.listed_paths()
        return {"/shop": [*queries.values()]} | {
            query: [path for path in products if path.startswith(f"/shop/{category}-")]
            for category, query in queries.items()
        }


class Blogs(Site):
    """Many hosts of one site on one address, with texts of their own under equal paths."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan._replace(pages=max(MIN_PAGES_OF_A_BLOG, plan.pages // BLOGS)))

    @cached_property
    def hosts(self) -> list[str]:
        rng = self.rng("blogs")
        labels = dict.fromkeys(words.name(rng).lower() for _ in range(2 * BLOGS))
        return [self.name, *(f"{label}.{self.name}" for label in [*labels][: BLOGS - 1])]

    def names(self) -> list[str]:
        return self.hosts

    def page_of(self, host: str, target: str) -> str | None:
        return target if host in self.hosts and target in self.honest else None

    def canonical_url(self, host: str, path: str) -> str:
        return self.url(host, path)

    def honest_urls(self) -> set[str]:
        return {self.url(host, path) for host in self.hosts for path in self.paths}

    def text(self, host: str, path: str) -> list[str]:
        return words.paragraphs(f"{self.seed}/{host}{path}")

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        if path == "/":
            page.aside += [Link(self.url(name, "/"), name) for name in self.hosts]
