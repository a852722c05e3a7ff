"""Files that other crawlers and archives have missed or invented, by public reports."""

import pytest
from msgspec.structs import replace

from gossamer.services.parser.page import parse
from tests.parser.pages import NOW, OPTIONS, page_response

ROOT = "http://www.example.org/dir/"
ALL = replace(OPTIONS, requisites=True, all_candidates=True)
DEVIANT = (
    "https://t00.deviantart.net/OXWm3wSDjT=/fit-in/150x150/filters:no_upscale():origin()/a.jpg"
)
HEIGHT = "https://t00.deviantart.net/gEAl=/fit-in/700x350/filters:fixed_height(100,100):origin()/a"
SHOPIFY = "//cdn.shopify.com/s/files/1/1075/3026/articles/LR18_{width}x.jpg?v=1687835702"
MIDEA = "//web-res.midea.com/content/dam/mobile banner-How to choose.jpg/jcr:content/5000.jpeg"
PETAPIXEL = "https://petapixel.com/assets/uploads/2021/01/maskback"
REPORTS: dict[str, tuple[str, list[str]]] = {
    "webrecorder/browsertrix-crawler#716": (
        "<img src=thumb/300px-Avatar.jpg srcset='Avatar.jpg 1.5x'>",
        ["thumb/300px-Avatar.jpg", "Avatar.jpg"],
    ),
    "webrecorder/browsertrix-crawler#3": (
        "<img src=a.jpg?w=640 srcset='a.jpg?w=640&amp;h=478 640w, a.jpg?w=1280&amp;h=956 1280w'>",
        ["a.jpg?w=640", "a.jpg?w=640&h=478", "a.jpg?w=1280&h=956"],
    ),
    "ArchiveTeam/wpull#381": (
        f"<img srcset='{DEVIANT} 97w,{HEIGHT} 225w,b.jpg 595w'>", [DEVIANT, HEIGHT, "b.jpg"],
    ),
    "webrecorder/pywb#238": (
        "<img srcset='//iiif.elifesciences.org/c1.png/full/1076,/0/default.jpg 1076w'>",
        ["http://iiif.elifesciences.org/c1.png/full/1076,/0/default.jpg"],
    ),
    "ArchiveTeam/wpull#134": ("<img srcset='pear-mobile.jpeg 720w'>", ["pear-mobile.jpeg"]),
    "unclecode/crawl4ai#1635": (
        f"<picture><source data-srcset='{MIDEA}' srcset='{MIDEA}'><img src='{MIDEA}'></picture>",
        ["http:" + MIDEA.replace(" ", "%20")],
    ),
    "internetarchive/heritrix3#214": (
        "<img src='http://haggmark.dk/foto/SolgtLabel&#xA;  '><img src='data:image/png;base64,/9'>",
        ["http://haggmark.dk/foto/SolgtLabel"],
    ),
    "internetarchive/heritrix3#225": (
        "<meta property=og:image:alt content=View.jpg><meta name=a content='Stitch-Maps.com'>", [],
    ),
    "internetarchive/heritrix3#692": (
        "<img data-src=/a.jpg data-full-src=/b.jpg data-lazy-srcset='/c.jpg 1x, /d.jpg 2x'>",
        ["/a.jpg", "/b.jpg", "/c.jpg", "/d.jpg"],
    ),
    "internetarchive/Zeno#378": (
        "<div data-src=/a.jpg></div><div data-srcset='/b.jpg 1x'></div>", ["/a.jpg", "/b.jpg"],
    ),
    "Y2Z/monolith#339": (f"<img class=lazyload data-src='{SHOPIFY}' data-widths='[180, 360]'>", []),
    "aFarkas/lazysizes#101": (
        "<div data-bg='http://app.resrc.it/s=w{width}/o={quality}/http://a.test/b.jpg'></div>", [],
    ),
    "aFarkas/lazysizes#223": (
        "<div data-bgset='a.jpg 1x, b.jpg 2x [(max-width: 9px)] | data:image/gif,R0='></div>",
        ["a.jpg", "b.jpg"],
    ),
    "Y2Z/monolith#16": (
        "<img class=lazy data-src=img/bmw.jpg><img src=grey.gif data-original=img/vw.jpg>",
        ["img/bmw.jpg", "grey.gif", "img/vw.jpg"],
    ),
    "Y2Z/monolith#60": (
        "<noscript><img src=/max/1400/1*a.png srcset='/max/552/1*a.png 276w'></noscript>",
        ["/max/1400/1*a.png", "/max/552/1*a.png"],
    ),
    "Y2Z/monolith#300": (
        "<section data-background-image=bg.png><img data-src=../teaching/cost.jpg></section>",
        ["/teaching/cost.jpg", "bg.png"],
    ),
    "j0k3r/graby#56": (
        "<img src='data:image/gif;base64,R0lGOD' data-original=//a.test/b.jpg?itok=11yfyV0r>",
        ["http://a.test/b.jpg?itok=11yfyV0r"],
    ),
    "j0k3r/graby#251": (
        f"<img src={PETAPIXEL}-800x701.jpg data-lazy-srcset='{PETAPIXEL}.jpg 1080w' "
        f"data-lazy-sizes='100vw' srcset='data:image/gif;base64,R0lGODlh'>",
        [f"{PETAPIXEL}-800x701.jpg", f"{PETAPIXEL}.jpg"],
    ),
    "mikf/gallery-dl#7977": ("<img src=p.svg data-lazy-src=/a.webp>", ["p.svg", "/a.webp"]),
    "dteviot/WebToEpub#1074": ("<img data-background='' data-src=/1_NsIU.jpg>", ["/1_NsIU.jpg"]),
    "ArchiveBox/ArchiveBox#318": (
        "<img data-ratio=0.56 data-type=png data-w=640 data-src=//mmbiz.qpic.cn/x/640?wx_fmt=png>",
        ["http://mmbiz.qpic.cn/x/640?wx_fmt=png"],
    ),
    "xroche/httrack#457": (
        "<picture><source srcset=a.webp></picture><video><source src=v.mp4><track src=t.vtt>",
        ["a.webp", "v.mp4", "t.vtt"],
    ),
    "ArchiveTeam/wpull#394": (
        "<video poster=p.jpg><source src=v.mp4></video><audio src=a.mp3>",
        ["p.jpg", "a.mp3", "v.mp4"],
    ),
    "machawk1/warcreate#68": ("<style>@import('./a.css'); @import './b.css';</style>", ["b.css"]),
}  # fmt: skip
"""Report → markup as in the report, and the URLs that a browser requests or that a script of the
page would request."""


@pytest.mark.parametrize("report", REPORTS)
def test_files_of_a_reported_page(report: str) -> None:
    markup, expected = REPORTS[report]
    parsed = parse(page_response(markup.encode()), ALL, NOW)
    found = [*parsed.requisites, *parsed.media]
    assert found == [
        url if "//" in url else ROOT.removesuffix("dir/") + url[1:] if url[0] == "/" else ROOT + url
        for url in expected
    ]
    assert not parsed.hazards
