"""Article pages with their main text, date and author."""

from typing import NamedTuple


class Article(NamedTuple):
    """A page and its expected contents."""

    html: str
    paragraphs: tuple[str, ...]
    published: str
    author: str

    @property
    def text(self) -> str:
        return "\n".join(self.paragraphs)


LIGHTHOUSE = (
    "The lighthouse at Cape Merrin went dark on Tuesday evening, for the first time since it "
    "was built in 1884. The keeper who used to climb its 212 steps each night retired years "
    "ago, and the harbour office had known since spring that the lamp would not be repaired "
    "again.",
    "Ships have found their way along this coast by satellite for three decades. “We kept the "
    "light for the fishermen, and the fishermen told us to keep the money,” said the harbour "
    "master, who has to choose between a new crane and an old lens.",
    "About sixty people stood on the pier when the lamp turned for the last time. A school "
    "choir sang, an elderly couple danced, and a dog that nobody knew howled at the sudden "
    "darkness until the street lamps along the promenade came on.",
    "The tower itself will stay. A trust of volunteers wants to open it to visitors next "
    "summer, with a small museum on the ground floor and a café in the former oil store, if the "
    "council lends them the keys and someone finds a plumber who is not afraid of heights.",
)
BREAD = (
    "A sourdough starter needs nothing but flour, water and patience. Mix fifty grams of rye "
    "flour with fifty grams of lukewarm water, cover the jar loosely, and leave it in a warm "
    "corner of the kitchen until the next day.",
    "On each of the following four days, throw half of the mixture away and feed the rest with "
    "as much flour and water as on the first day. Bubbles appear on the second day, vanish on "
    "the third, and return for good on the fourth. That is normal: one kind of bacteria gives "
    "way to another.",
    "The starter is ready when it doubles its volume within six hours and smells of yoghurt "
    "rather than of glue. Keep a spoonful in the refrigerator, feed it once a week, and give "
    "the surplus to a neighbour, who will soon have a surplus as well.",
)
BRIDGE = (
    "Die alte Brücke über die Lenne wird im Herbst abgerissen. Der Stadtrat beschloss am "
    "Donnerstag mit knapper Mehrheit, das baufällige Bauwerk nicht noch einmal zu sanieren, "
    "sondern durch einen Steg für Fußgänger und Radfahrer zu ersetzen.",
    "Die Gegner des Beschlusses hatten viertausend Unterschriften gesammelt. Sie fürchten, dass "
    "der Verkehr künftig durch die enge Gasse am Markt fließt, in der schon heute kein "
    "Müllwagen wenden kann, ohne dass jemand aussteigt und winkt.",
    "Der Bürgermeister versprach eine Umleitung über die Bundesstraße und günstige Fahrkarten "
    "für den Bus. Der neue Steg soll ein Jahr später eröffnet werden und höchstens zwei "
    "Millionen Euro kosten, von denen das Land die Hälfte übernimmt.",
)


def _paragraphs(texts: tuple[str, ...]) -> str:
    return "\n".join(f"<p>{text}</p>" for text in texts)


ARTICLES = {
    "news with linked data": Article(
        f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<title>Cape Merrin goes dark | The Coast Herald</title>
<link rel="canonical" href="/news/cape-merrin"><link rel="amphtml" href="/amp/cape-merrin">
<link rel="alternate" type="application/rss+xml" title="News" href="/feed.xml">
<meta property="og:image" content="/pictures/tower.jpg">
<script type="application/ld+json">{{"@type": "NewsArticle", "datePublished":
"2024-05-07T18:30:00+00:00", "author": {{"@type": "Person", "name": "Ada Finch"}}}}</script>
</head><body><header><a href="/">The Coast Herald</a><nav><ul><li><a href="/news">News</a></li>
<li><a href="/sport">Sport</a></li><li><a href="/weather">Weather</a></li></ul></nav></header>
<div id="cookies" role="dialog">We use cookies to improve this site. <button>Accept</button></div>
<main><article><h1>Cape Merrin goes dark</h1>{_paragraphs(LIGHTHOUSE)}</article></main>
<aside><h2>Most read</h2><ul><li><a href="/news/ferry">Ferry late again</a></li>
<li><a href="/news/eels">Eels return</a></li></ul></aside>
<iframe src="/maps/merrin" title="A map"></iframe>
<footer><a href="/imprint">Imprint</a><p>All rights reserved.</p></footer>
<script>var more = ["/news/older-stories", "/news/archive"];</script></body></html>""",
        LIGHTHOUSE,
        "2024-05-07T18:30:00+00:00",
        "Ada Finch",
    ),
    "blog with meta elements": Article(
        f"""<html lang=en><head><meta charset=utf-8><title>A starter in five days</title>
<meta name=author content="Bo Miller"><meta property="article:published_time"
content="2023-11-02T06:00:00+00:00"><meta property="og:image" content="/jar.png"></head>
<body><div class=menu><a href=/>Home</a> <a href=/recipes>Recipes</a> <a href=/about>About</a></div>
<div class=post><h1>A starter in five days</h1>{_paragraphs(BREAD)}</div>
<div class=share>Share this: <a href=/share?to=a>One</a> <a href=/share?to=b>Other</a></div>
<div class=comments><h3>2 comments</h3><div class=comment>Mine died on day three.</div>
<div class=comment>Same here!</div></div><div class=footer>© Bo Miller</div></body></html>""",
        BREAD,
        "2023-11-02T06:00:00+00:00",
        "Bo Miller",
    ),
    "German news with microdata": Article(
        f"""<!DOCTYPE html><html lang="de"><head><meta charset="utf-8">
<title>Abriss im Herbst</title>
<meta property="og:image" content="/bilder/lenne.jpg"></head>
<body><ul class="navigation"><li><a href="/lokales">Lokales</a></li><li><a href="/kultur">Kultur</a>
</li></ul><article itemscope itemtype="https://schema.org/NewsArticle"><h1>Abriss im Herbst</h1>
<p class="byline">Von <a rel="author" href="/jule-kern">Jule Kern</a>,
<time itemprop="datePublished" datetime="2022-03-18T09:15:00+01:00">18. März 2022</time></p>
{_paragraphs(BRIDGE)}</article>
<div class="sidebar"><h3>Das Wetter</h3>Heiter bis wolkig, 14 Grad.</div>
<footer><a href="/impressum">Impressum</a></footer></body></html>""",
        BRIDGE,
        "2022-03-18T09:15:00+01:00",
        "Jule Kern",
    ),
}
