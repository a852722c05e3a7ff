"""Kinds of honest sites that look like traps.

A kind is a function of the number of pages. It returns all pages by URL, and its docstring says
what makes it look like a trap. Its seeds are the home pages of its hosts.
"""

import datetime
from collections.abc import Callable, Sequence
from typing import TypeVar

from . import prose
from .page import Items, Pages, html, links, p, prose_of, site, table, url

T = TypeVar("T")
KINDS: dict[str, Callable[[int], Pages]] = {}
ON_ONE_ADDRESS = {"hosted", "hosting"}
"""Kinds whose hosts share an address. All other hosts have addresses of their own."""
BARE = {"taxonomy", "albums", "exhibitions"}
"""Kinds whose pages have hardly any text. At a large site that no seed names, some of them wait for
probes."""
PAGES_OF_A_HOST = 12


def kind(make: Callable[[int], Pages]) -> Callable[[int], Pages]:
    """Add a kind under the name of its function."""
    KINDS[make.__name__] = make
    return make


def items(size: int, path: str, content: Callable[[int], str], *key: object) -> Items:
    """Return *size* items, whose paths are *path* with their numbers in it."""
    return {path.format(n): (prose.title(*key, path, n), content(n)) for n in range(1, size + 1)}


def articles(
    size: int, path: str, words: int, *key: object, before: str = "", after: str = ""
) -> Items:
    """Return *size* items with *words* of their own between common texts."""
    return items(size, path, lambda n: before + prose_of(words, *key, path, n) + after, *key)


def network(size: int, domain: str, make: Callable[[str], Pages]) -> Pages:
    """Return the pages of hosts whose names end with *domain*, about a dozen of each."""
    pages = Pages()
    for label in prose.names(max(2, size // PAGES_OF_A_HOST), domain):
        pages |= make(f"{label}{domain}")
    return pages


def owner_of(host: str) -> str:
    """Return a name that no other host of a network has."""
    return host.partition("-")[0].title()


def notices() -> Items:
    """Return pages that are equal at many hosts."""
    return {f"/{name}": (f"The {name}", prose_of(600, name)) for name in ("privacy", "terms")}


def figures(rows: int, columns: int, *key: object) -> list[list[object]]:
    chosen = prose.rng("figures", *key)
    return [
        [prose.name(*key, row).title(), *(chosen.randrange(10, 9000) / 10 for _ in range(columns))]
        for row in range(rows)
    ]


def groups(entries: Sequence[T], of: int) -> list[Sequence[T]]:
    """Return the entries in groups *of* that many."""
    return [entries[at : at + of] for at in range(0, len(entries), of)]


# Texts with long common parts


@kind
def statutes(size: int) -> Pages:
    """All statutes of a parliament begin with the same recitals of 700 words."""
    return site("statutes.test", articles(size, "/law/{}", 400, before=prose_of(700, "recitals")))


@kind
def contracts(size: int) -> Pages:
    """Contracts have 900 words of standard clauses before their own annexes."""
    clauses = prose_of(900, "clauses")
    return site("contracts.test", articles(size, "/contract-{}.html", 120, before=clauses))


@kind
def decisions(size: int) -> Pages:
    """Decisions of a court quote the same law before and after their own facts."""
    law, costs = prose_of(400, "quoted law"), prose_of(150, "costs")
    return site("decisions.test", articles(size, "/ecli/{}", 250, before=law, after=costs))


@kind
def forum(size: int) -> Pages:
    """Each page of a thread repeats the first post, and each post quotes the one before it."""
    per = 6

    def page(n: int) -> str:
        thread, number = divmod(n - 1, per)
        first = prose_of(200, "post", thread, 0)
        posts = ""
        for at in range(3 * number + 1, 3 * number + 4):
            posts += f"<blockquote>{prose_of(60, 'post', thread, at - 1)}</blockquote>"
            posts += prose_of(60, "post", thread, at)
        return first + posts

    def path(n: int) -> str:
        thread, number = divmod(n - 1, per)
        return f"/thread/{thread}" + (f"?page={number + 1}" if number else "")

    threads = {
        path(n): (prose.title("thread", (n - 1) // per), page(n)) for n in range(1, size + 1)
    }
    return site("forum.test", threads)


@kind
def mails(size: int) -> Pages:
    """Each message quotes all messages of its thread before it, below a few own words."""
    depth = 8

    def message(n: int) -> str:
        thread, at = divmod(n - 1, depth)
        quoted = "".join(
            f"<pre>{'&gt; ' * (at - k)}{prose.text(50, 'mail', thread, k)}</pre>\n"
            for k in reversed(range(at))
        )
        footer = p("To unsubscribe, send a mail to the owner of this list.")
        return prose_of(50, "mail", thread, at) + quoted + footer

    return site("mails.test", items(size, "/archive/msg{:05}.html", message))


@kind
def papers(size: int) -> Pages:
    """The papers of a series have one preface."""
    return site("papers.test", articles(size, "/paper/{}", 300, before=prose_of(600, "preface")))


@kind
def jobs(size: int) -> Pages:
    """All job offers of an employer describe the employer in 300 words, and their duties in 60."""
    employer, benefits = prose_of(200, "employer"), prose_of(100, "benefits")
    return site("jobs.test", articles(size, "/jobs/{}", 60, before=employer, after=benefits))


@kind
def versions(size: int) -> Pages:
    """Four versions of a documentation differ in a paragraph on each page."""

    def page(n: int, version: int) -> str:
        return prose_of(240, "docs", n) + prose_of(60, "docs", n, version)

    numbers = range(1, size // 4 + 1)
    pages = {
        f"/{version}.0/page{n}.html": (prose.title("docs", n), page(n, version))
        for version in range(1, 5)
        for n in numbers
    }
    return site("versions.test", pages)


@kind
def translations(size: int) -> Pages:
    """Each text is there in five languages, with the same structure, figures and names."""

    def page(n: int, language: str) -> tuple[str, str]:
        title, text = prose.title("text", n), prose.text(150, "text", n)
        if language != "en":
            title, text = prose.translated(title, language), prose.translated(text, language)
        return title, p(text) + table(figures(4, 4, "text", n))

    languages = ("en", "de", "fr", "pt", "cs")
    numbers = range(1, size // len(languages) + 1)
    return site(
        "translations.test",
        {f"/{language}/text{n}": page(n, language) for n in numbers for language in languages},
    )


@kind
def variants(size: int) -> Pages:
    """Variants of a product differ in a parameter, and have a description of their own beside that
    of the product."""
    colors = ("red", "green", "blue", "black", "white", "grey")

    def page(product: int, color: str) -> str:
        return prose_of(120, "product", product) + prose_of(60, "product", product, color)

    return site(
        "variants.test",
        {
            f"/product/{n}?color={color}": (f"{prose.title('product', n)}, {color}", page(n, color))
            for n in range(1, size // len(colors) + 1)
            for color in colors
        },
    )


# Pages of few words, or of none


@kind
def wiki(size: int) -> Pages:
    """Articles are stubs: an infobox with the same labels, and one sentence."""
    labels = ("Country", "Region", "Population", "Area", "Elevation", "Mayor", "Website", "Code")

    def stub(n: int) -> str:
        values = [prose.name("wiki", n, label) for label in labels]
        return table(zip(labels, values, strict=True)) + p(*prose.sentences(1, "wiki", n))

    return site("wiki.test", items(size, "/wiki/Article_{}", stub))


@kind
def api(size: int) -> Pages:
    """Each function of an API has a page of a template, with a sentence of its own."""

    def function(n: int) -> str:
        own = prose.names(3, "api", n)
        signature = f"def {own[0]}({own[1]}: int, {own[2]}: str | None = None) -> None"
        return f"<pre>{signature}</pre>" + p(
            *prose.sentences(1, "api", n),
            "Parameters, return value and exceptions of this function are listed below.",
            f"{own[1]}: the number of things. {own[2]}: the name of the thing, or None.",
            "Raises ValueError if an argument is not valid. New in version 3.2. See also the list.",
        )

    return site("api.test", items(size, "/api/{}.html", function))


@kind
def glossary(size: int) -> Pages:
    """Each entry is one line."""
    return site("glossary.test", articles(size, "/term/{}", 12))


@kind
def poems(size: int) -> Pages:
    """Poems are short lines, with one refrain after each verse."""
    refrain = prose.sentences(2, "refrain")

    def poem(n: int) -> str:
        verses = (prose.sentences(3, "poem", n, verse) for verse in range(3))
        return "".join("<br>".join([*verse, *refrain]) + "<hr>" for verse in verses)

    return site("poems.test", items(size, "/poem/{}.htm", poem))


@kind
def timetables(size: int) -> Pages:
    """The pages of stops are tables of times, without a sentence."""

    def stop(n: int) -> str:
        minutes = prose.rng("stop", n).sample(range(60), 4)
        hours = range(5, 24)
        return table([f"{hour:02}:{minute:02}" for minute in sorted(minutes)] for hour in hours)

    return site("timetables.test", items(size, "/stop?id={}", stop))


@kind
def prices(size: int) -> Pages:
    """Price lists are figures below the same headings."""

    def page(n: int) -> str:
        return table([("Article", "Net", "Gross", "From 10"), *figures(12, 3, "price", n)])

    return site("prices.test", items(size, "/prices/{}", page))


@kind
def gallery(size: int) -> Pages:
    """The pages of a gallery are pictures without a text."""
    photos = {
        f"/photo/{n}": (f"IMG_{n:04}", f'<img src="/img/{n}.jpg" alt="">')
        for n in range(1, size + 1)
    }
    return site("gallery.test", photos)


@kind
def catalogue(size: int) -> Pages:
    """Records of a library's catalogue have the same labels, and their URLs many parameters."""

    def record(n: int) -> str:
        return table(
            [
                ("Title", prose.title("book", n)),
                ("Author", f"{prose.name('first', n)} {prose.name('last', n)}"),
                ("Published", f"{prose.name('town', n)}, {1800 + n * 37 % 220}"),
                ("Extent", f"{n * 97 % 700} pages, {n % 40} cm"),
                ("Shelf mark", f"QA {n * 13 % 900}.{n % 77}"),
                ("Availability", "on the shelf, may be borrowed for four weeks"),
            ]
        )

    return site("catalogue.test", items(size, "/opac?view=full&db=main&rec={}", record))


@kind
def changelogs(size: int) -> Pages:
    """Release notes repeat the same few phrases."""
    phrases = [prose.sentences(1, "change", n)[0] for n in range(12)]

    def release(n: int) -> str:
        common = prose.rng("release", n).sample(phrases, 5)
        return links([("/", f"Version 1.{n}")]) + p(*common, *prose.sentences(2, "release", n))

    return site("changelogs.test", items(size, "/releases/1.{}", release))


@kind
def recipes(size: int) -> Pages:
    """Recipes are lists of the same ingredients, and of the same steps with another dish."""
    foods = ("flour", "sugar", "butter", "eggs", "milk", "salt", "onions", "oil", "rice", "beans")

    def recipe(n: int) -> str:
        chosen = prose.rng("recipe", n)
        rows = [(f"{chosen.randrange(5, 500)} g", food) for food in chosen.sample(foods, 7)]
        steps = f"Mix everything for {chosen.randrange(2, 20)} minutes. Bake it. Serve it warm."
        return table(rows) + p(steps, *prose.sentences(2, "recipe", n))

    return site("recipes.test", items(size, "/recipe/{}", recipe))


# Lists and links


@kind
def tree(size: int) -> Pages:
    """A list of items, each with one further page behind it."""
    host, half = "tree.test", size // 2

    def item(n: int) -> str:
        return prose_of(120, "item", n) + links([(f"/item/{n}/more", "more")])

    pages = site(host, items(half, "/item/{}", item))
    for path, (title, text) in articles(half, "/item/{}/more", 120).items():
        pages[url(host, path)] = html(title, text, host)
    return pages


@kind
def calendar(size: int) -> Pages:
    """Events have a page for each day, and days link to the day before and after."""
    first = datetime.date(2026, 1, 1)
    days = [str(first + datetime.timedelta(days=3 * n)) for n in range(size)]
    return site(
        "calendar.test",
        {
            f"/calendar/{day}": (f"{prose.name(day)}, {day}", prose_of(60, "day", day))
            for day in days
        },
    )


@kind
def archive(size: int) -> Pages:
    """Posts are only linked by the pages of an archive, which link to pages near them and to the
    last one."""
    host, per = "archive.test", 5
    count = size // per
    pages = {}
    for number in range(count):
        near = {0, count - 1, *(number + step for step in (-8, -2, -1, 1, 2, 8))} & {*range(count)}
        posts = [
            (f"/post/{n}", prose.title("post", n)) for n in range(number * per, number * per + per)
        ]
        menu = [(f"/archive?page={at}" if at else "/", str(at + 1)) for at in sorted(near)]
        path = f"/archive?page={number}" if number else "/"
        pages[url(host, path)] = html("Archive", links(posts) + links(menu), host)
        for path, title in posts:
            pages[url(host, path)] = html(title, prose_of(80, "archive", path), host)
    return pages


@kind
def months(size: int) -> Pages:
    """Stories are only linked by the list of their month, and months by the list of their year: no
    list has a text of its own, and each leads to new pages only."""
    host, per = "months.test", 3
    stories = articles(size * 3 // 4, "/story/{}.html", 100)
    pages, years = {}, dict[str, list[tuple[str, str]]]()
    for number, group in enumerate(groups([*stories.items()], per)):
        year, month = divmod(number, 12)
        year += 2001
        path = f"/archive/{year}/{month + 1:02}/"
        years.setdefault(f"/archive/{year}/", []).append((path, f"{month + 1:02}/{year}"))
        listed = links((to, title) for to, (title, _) in group)
        pages[url(host, path)] = html(f"{month + 1:02}/{year}", listed, host)
        for to, (title, text) in group:
            pages[url(host, to)] = html(title, text, host)
    for path, of_year in years.items():
        pages[url(host, path)] = html(path[-5:-1], links(of_year), host)
    pages[url(host)] = html("Archive", links((path, path[-5:-1]) for path in years), host)
    return pages


@kind
def departments(size: int) -> Pages:
    """Goods are only linked by the lists at the end of three levels of lists."""
    host = "departments.test"
    goods = articles(size * 3 // 4, "/goods/{}", 60)
    pages = {url(host, path): html(title, text, host) for path, (title, text) in goods.items()}
    entries = [(path, title) for path, (title, _) in goods.items()]
    for level, of_a_list in ((3, 4), (2, 6), (1, 6)):
        lists, entries = groups(entries, of_a_list), []
        for n, listed in enumerate(lists, 1):
            path, title = f"/level{level}/{n}/", prose.title("department", level, n)
            pages[url(host, path)] = html(title, links(listed), host)
            entries.append((path, title))
    pages[url(host)] = html("Our departments", links(entries), host)
    return pages


@kind
def taxonomy(size: int) -> Pages:
    """A tree of lists with five levels, on which there are names alone; its leaves have a line."""
    host, pages, levels = "taxonomy.test", Pages(), 5
    branches = next(n for n in range(2, size) if (n + 1) ** levels > size)

    def add(path: str, title: str, depth: int) -> None:
        names = [prose.name("taxon", path, n) for n in range(branches if depth < levels else 0)]
        below = [(f"{path}{name.lower()}-{n}/", name) for n, name in enumerate(names)]
        content = links(below) if below else p(*prose.sentences(3, "taxon", path))
        pages[url(host, path)] = html(title, content, host)
        for to, name in below:
            add(to, name, depth + 1)

    add("/", "All species", 0)
    return pages


@kind
def albums(size: int) -> Pages:
    """Albums of sixteen photos without a text, each of which links to the next one."""
    host, per = "albums.test", 16
    listed = [f"/album/{n}/" for n in range(1, size // per + 2)]
    pages = {
        url(host): html("Photos", links((path, f"Album {path[7:-1]}") for path in listed), host)
    }
    for album in listed:
        photos = [(f"{album}{n}", f"IMG {n}") for n in range(per)]
        pages[url(host, album)] = html(f"Album {album[7:-1]}", links(photos), host)
        for n, (path, title) in enumerate(photos):
            picture = f'<img src="/full{path}.jpg" alt="">'
            near = links([photos[(n + 1) % per], (album, "album")])
            pages[url(host, path)] = html(title, picture + near, host)
    return pages


@kind
def posts(size: int) -> Pages:
    """Each page of a thread repeats its first post of 200 words, and has three of a line."""
    host, per = "posts.test", 8
    pages, threads = Pages(), [f"/t/{n}" for n in range(1, size // per + 2)]
    home = links((path, prose.title("thread", path)) for path in threads)
    pages[url(host)] = html("Posts", home, host)
    for thread in threads:
        for n in range(1, per + 1):
            replies = p(*(prose.text(12, "reply", thread, n, at) for at in range(3)))
            paths = [thread, *(f"{thread}?page={at}" for at in range(2, per + 1))]
            near = links((paths[at - 1], str(at)) for at in (n - 1, n + 1) if 1 <= at <= per)
            path = paths[n - 1]
            first = prose_of(200, "first post", thread)
            pages[url(host, path)] = html(
                prose.title("thread", thread), first + replies + near, host
            )
    return pages


# Many hosts


@kind
def shops(size: int) -> Pages:
    """Shops of one template have equal home pages and lists with relative links, which lead to
    products of their own."""

    def shop(host: str) -> Pages:
        products = {f"/p/{n}": (f"Product {n}", prose_of(80, host, n)) for n in range(1, 9)}
        return site(host, products, p("Welcome to our shop."), "Our shop", of_a_list=3)

    return network(size, "-shop.test", shop)


@kind
def studios(size: int) -> Pages:
    """Photographers have own home pages, and equal galleries with relative links to own photos."""

    def studio(host: str) -> Pages:
        numbers = range(1, PAGES_OF_A_HOST - 1)
        menu = links((f"/photo/{n}", f"Photo {n}") for n in numbers)
        gallery = html(
            "Gallery", p("Choose a photo. All photos may be bought as prints.") + menu, ""
        )
        own = site(host, {"/gallery": ("Gallery", "")}) | {url(host, "/gallery"): gallery}
        for n in numbers:
            content = f'<img src="/img/{n}.jpg">' + p(*prose.sentences(2, host, n))
            own[url(host, f"/photo/{n}")] = html(prose.title(host, n), content, host)
        return own

    return network(size, "-studio.test", studio)


@kind
def exhibitions(size: int) -> Pages:
    """Galleries below one domain, with equal home pages and lists, show pictures of their own."""
    pages, hosts = Pages(), prose.names(4, "exhibition")
    for number, label in enumerate(hosts):
        host = f"{label}.exhibitions.test"
        works = {
            f"/work/{n}": (
                f"Work {n}",
                f'<img src="/{label}/{n}.jpg" alt="">'
                + p(f"Oil on canvas, {20 + n * number} x {30 + n} cm"),
            )
            for n in range(1, size // len(hosts))
        }
        pages |= site(host, works, p("Welcome to our gallery. Open daily."), "The gallery")
    return pages


@kind
def branches(size: int) -> Pages:
    """Branches of a company have one privacy notice and terms, and the same other pages, with their
    own addresses and one own sentence."""

    def branch(host: str) -> Pages:
        town = owner_of(host)

        def page(n: int) -> str:
            own = p(f"Our branch in {town}: {n * 7} {prose.name(host, n)} Street, {town}.")
            return prose_of(200, "branches", n) + own + prose_of(12, host, n)

        own = items(PAGES_OF_A_HOST - 3, "/{}.html", page, "branches")
        return site(host, notices() | own, page(0), "The company")

    return network(size, "-branch.test", branch)


@kind
def franchises(size: int) -> Pages:
    """The pages of all partners of a chain, home pages too, have a text of 120 words, in which a
    name, a product and a price differ."""
    offer = prose.sentences(10, "offer")

    def partner(host: str) -> Pages:
        own = owner_of(host)

        def page(n: int) -> str:
            price = len(own) * n * 137 % 900
            return p(f"{own} sells the {prose.name(host, n)} for {price} crowns.", *offer)

        products = items(PAGES_OF_A_HOST - 1, "/p/{}", page, "franchises")
        return site(host, products, p(f"Welcome to {own}.", *offer), f"The {own} shop")

    return network(size, "-partner.test", partner)


@kind
def installations(size: int) -> Pages:
    """Servers show the home page that came with their software; its links lead to own content."""
    welcome = p("It works! This is the default page of the server. You may replace this file.")

    def server(host: str) -> Pages:
        own = articles(PAGES_OF_A_HOST - 1, "/docs/{}", 100, host)
        menu = links((path, f"Document {n}") for n, path in enumerate(own, 1))
        pages = {url(host): html("Welcome", welcome + menu, "the administrator")}
        for path, (title, text) in own.items():
            pages[url(host, path)] = html(title, text, host)
        return pages

    return network(size, "-server.test", server)


@kind
def hosting(size: int) -> Pages:
    """The hosts of a hosting suffix are of different people, and each links to some others."""
    domain = ".github.io"
    names = prose.names(max(2, size // PAGES_OF_A_HOST), domain)

    def blog(host: str) -> Pages:
        at = names.index(host.removesuffix(domain))
        others = (f"{names[(at + n) % len(names)]}{domain}" for n in (1, 2, 3))
        friends = links((url(other), f"my friend {other}") for other in others)
        own = articles(PAGES_OF_A_HOST - 1, "/{}", 90, host)
        return site(host, own, prose_of(60, host, "home") + friends)

    return network(size, domain, blog)


def club_sites(size: int, domain: str) -> Pages:
    welcome = prose_of(200, "welcome")

    def club(host: str) -> Pages:
        news = {
            f"/news/{n}": (f"News {n}", prose_of(60, host, n))
            for n in range(1, PAGES_OF_A_HOST - 2)
        }
        return site(host, notices() | news, p(f"The club of {owner_of(host)}.") + welcome)

    return network(size, domain, club)


@kind
def clubs(size: int) -> Pages:
    """Clubs of one site builder have home pages that differ in their names, the same long privacy
    notice and terms, and news of their own."""
    return club_sites(size, "-club.test")


@kind
def hosted(size: int) -> Pages:
    """Clubs of one site builder have one address, too."""
    return club_sites(size, "-hosted.test")


@kind
def agency(size: int) -> Pages:
    """Newspapers print the same agency texts under their own headlines, beside own articles."""

    def paper(host: str) -> Pages:
        printed = {
            f"/agency/{n}": (prose.title(host, n), prose_of(150, "agency", n)) for n in range(5)
        }
        return site(host, printed | articles(PAGES_OF_A_HOST - 6, "/own/{}", 120, host))

    return network(size, "-news.test", paper)
