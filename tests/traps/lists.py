"""Traps of lists: calendars, facets, sort orders, and families of near duplicates.

Honest events and products are linked only from the first pages of their lists.
"""

import datetime
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from tests.synthweb.answers import Answer

from . import words
from .page import Link, Page
from .site import Site

FIRST_MONTH = 2026 * 12 + 4
"""May 2026, as months since the year 0."""
EVENT_MONTHS = range(FIRST_MONTH - 1, FIRST_MONTH + 2)
EVENTS_OF_A_MONTH = 3
PRODUCTS = 12
FACETS = {
    "color": ("red", "green", "blue", "black"),
    "size": ("s", "m", "l", "xl"),
    "brand": ("acme", "borel", "corvo", "dunlin"),
    "price": ("10", "20", "50", "100"),
    "material": ("wool", "linen", "cotton", "silk"),
    "stock": ("now", "week", "month", "ask"),
}
ORDERS = {
    "sort": ("name", "price", "date", "rating", "weight"),
    "order": ("asc", "desc"),
    "view": ("grid", "list", "table"),
    "per": ("10", "20", "50", "100"),
}
TOWNS = 400
TOWNS_OF_A_PAGE = 20


class Calendar(Site):
    """Each month links to the months and years around it and to its days, and each day to its
    neighbours, without end."""

    def listed_paths(self) -> list[str]:
        months = [*EVENT_MONTHS]
        return [f"/events/{month}-{n}.html" for month in months for n in range(EVENTS_OF_A_MONTH)]

    def is_needed(self, host: str, target: str) -> bool:
        return target in ("/calendar", *map(_month_path, EVENT_MONTHS))

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.menu.append(Link("/calendar", "Calendar"))

    def trap(self, host: str, target: str) -> Answer:
        if target == "/calendar":
            return self._month(host, FIRST_MONTH)
        if found := re.fullmatch(r"/calendar\?year=(\d+)&month=(\d+)", target):
            return self._month(host, int(found[1]) * 12 + int(found[2]) - 1)
        if found := re.fullmatch(r"/calendar/(\d{4}-\d\d-\d\d)", target):
            return self._day(host, datetime.date.fromisoformat(found[1]))
        return super().trap(host, target)

    def _month(self, host: str, month: int) -> Answer:
        year, number = divmod(month, 12)
        name = datetime.date(2000, number + 1, 1).strftime("%B")
        events = [
            path for path in self.listed_paths() if path.startswith(f"/events/{month}-")
        ]  # Other months have no events.
        said = f"{len(events)} events." if events else "There are no events."
        page = self.framed(host, "/calendar", f"{name} {year}", [said])
        page.lists = [self.link(host, "/calendar", path) for path in events]
        page.lists += [
            Link(_month_path(month + step), text)
            for step, text in (
                (-12, "previous year"),
                (-1, "previous"),
                (1, "next"),
                (12, "next year"),
            )
        ]
        page.lists += [
            Link(f"/calendar/{year:04}-{number + 1:02}-{day:02}", str(day)) for day in range(1, 29)
        ]
        return page.answer()

    def _day(self, host: str, day: datetime.date) -> Answer:
        page = self.framed(host, "/calendar", f"{day:%A}, {day}", ["Nothing happens on this day."])
        step = datetime.timedelta(days=1)
        page.lists = [Link(f"/calendar/{day - step}", "previous day")]
        page.lists += [Link(f"/calendar/{day + step}", "next day")]
        page.lists += [Link(_month_path(day.year * 12 + day.month - 1), "month")]
        return page.answer()


def _month_path(month: int) -> str:
    return f"/calendar?year={month // 12}&month={month % 12 + 1}"


class Shop(Site):
    """A list of products, and its forms under many queries."""

    path = "/shop"
    values: Mapping[str, tuple[str, ...]]

    def listed_paths(self) -> list[str]:
        return [f"/products/{number}.html" for number in range(PRODUCTS)]

    def is_needed(self, host: str, target: str) -> bool:
        return target == self.path

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.menu.append(Link(self.path, "Shop"))

    def trap(self, host: str, target: str) -> Answer:
        path, _, query = target.partition("?")
        chosen = dict(parse_qsl(query))
        if path != self.path or any(
            it not in self.values.get(key, ()) for key, it in chosen.items()
        ):
            return super().trap(host, target)
        page = self.framed(host, self.path, "All products", [f"{PRODUCTS} products."])
        page.lists = [self.link(host, self.path, to) for to in self.products(chosen)]
        page.aside = [Link(f"{path}?{urlencode(it)}", "choose") for it in self.choices(chosen)]
        return page.answer()

    def products(self, chosen: dict[str, str]) -> list[str]:
        """Return the products that match, in their order."""
        raise NotImplementedError

    def choices(self, chosen: dict[str, str]) -> list[dict[str, str]]:
        """Return the queries to which a list links."""
        raise NotImplementedError


class Facets(Shop):
    """Six parameters can be combined in any order."""

    values = FACETS

    def products(self, chosen: dict[str, str]) -> list[str]:
        products = self.listed_paths()
        return [it for it in products if all(self._has(it, *pair) for pair in chosen.items())]

    def _has(self, path: str, key: str, value: str) -> bool:
        return value in self.rng(path, key).sample(FACETS[key], 2)

    def choices(self, chosen: dict[str, str]) -> list[dict[str, str]]:
        without = [{key: it for key, it in chosen.items() if key != one} for one in chosen]
        more = [
            {**chosen, key: it}
            for key, values in FACETS.items()
            for it in values
            if key not in chosen
        ]
        return [it for it in without if it] + more


class SortOrders(Shop):
    """Each list has all products, in one of many orders and views."""

    values = ORDERS

    def products(self, chosen: dict[str, str]) -> list[str]:
        products = self.listed_paths()
        self.rng("sort", chosen.get("sort", ""), chosen.get("order", "")).shuffle(products)
        return products

    def choices(self, chosen: dict[str, str]) -> list[dict[str, str]]:
        return [{**chosen, key: it} for key, values in ORDERS.items() for it in values]


class NearDuplicates(Site):
    """Four hundred pages that differ in one word, and their lists."""

    def is_needed(self, host: str, target: str) -> bool:
        return target == "/towns"

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.menu.append(Link("/towns", "Towns"))

    def trap(self, host: str, target: str) -> Answer:
        if found := re.fullmatch(r"/towns(?:\?page=(\d+))?", target):
            return self._list(host, int(found[1] or 0))
        if found := re.fullmatch(r"/town/([a-z]+)-\d+\.html", target):
            town = found[1].capitalize()
            key = f"{self.seed}/{self.name}/town"
            text = [*words.paragraphs(key), *words.paragraphs(f"{key}/more")]
            text[0] = f"Have a look at our offers in {town}. {text[0]}"
            return self.framed(host, target, "Our offers", text).answer()
        return super().trap(host, target)

    def _list(self, host: str, number: int) -> Answer:
        page = self.framed(host, "/towns", "Towns", [f"Page {number + 1} of all towns."])
        first = number * TOWNS_OF_A_PAGE
        for town in range(first, min(TOWNS, first + TOWNS_OF_A_PAGE)):
            name = words.name(self.rng("town", str(town)))
            page.lists.append(Link(f"/town/{name.lower()}-{town}.html", name))
        if first + TOWNS_OF_A_PAGE < TOWNS:
            page.lists.append(Link(f"/towns?page={number + 1}", "next"))
        return page.answer()
