"""Sitemaps and feeds of each kind that sites have."""

import gzip

SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
GOOGLE = "http://www.google.com/schemas"


def _urlset(inner: str, namespaces: str = SITEMAP) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {namespaces}>{inner}</urlset>'.encode()


LISTINGS = {
    "images": _urlset(
        "<url><loc>http://a.test/1</loc><image:image><image:loc>http://a.test/1.jpg</image:loc>"
        "<image:title>A tower</image:title></image:image></url>",
        f'{SITEMAP} xmlns:image="{GOOGLE}/sitemap-image/1.1"',
    ),
    "videos": _urlset(
        "<url><loc>http://a.test/1</loc><video:video><video:title>A tower</video:title>"
        "<video:content_loc>http://a.test/1.mp4</video:content_loc></video:video></url>",
        f'{SITEMAP} xmlns:video="{GOOGLE}/sitemap-video/1.1"',
    ),
    "news": _urlset(
        "<url><loc>http://a.test/1</loc><news:news><news:publication><news:name>Herald</news:name>"
        "</news:publication><news:title>Dark</news:title></news:news></url>",
        f'{SITEMAP} xmlns:news="{GOOGLE}/sitemap-news/0.9"',
    ),
    "zone of a place": _urlset(
        "<url><loc>http://a.test/1</loc><lastmod>2024-05-01 10:00 Asia/Tokyo</lastmod></url>"
    ),
    "mobile": _urlset(
        "<url><loc>http://a.test/1</loc><mobile:mobile/></url>",
        f'{SITEMAP} xmlns:mobile="{GOOGLE}/sitemap-mobile/1.0"',
    ),
    "page map": _urlset(
        '<url><loc>http://a.test/1</loc><PageMap><DataObject type="document">'
        '<Attribute name="title">Dark</Attribute></DataObject></PageMap></url>'
    ),
    "a prefix for all names": (
        b'<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9">'
        b"<s:url><s:loc>http://a.test/1</s:loc></s:url></s:urlset>"
    ),
    "a wrong namespace": _urlset("<url><loc>http://a.test/1</loc></url>", 'xmlns="http://a.test"'),
    "an index": (
        f"<sitemapindex {SITEMAP}><sitemap><loc>http://a.test/1</loc></sitemap></sitemapindex>"
    ).encode(),
    "gzip": gzip.compress(_urlset("<url><loc>http://a.test/1</loc></url>"), mtime=0),
    "text": b"http://a.test/1\n",
    "text with a byte order mark": b"\xef\xbb\xbfhttp://a.test/1\r\n",
    "text in gzip": gzip.compress(b"http://a.test/1\n", mtime=0),
    "RSS": (
        b'<rss version="2.0"><channel><title>News</title><item><link>http://a.test/1</link>'
        b"<pubDate>Tue, 07 May 2024 18:30:00 +0000</pubDate></item></channel></rss>"
    ),
    "Atom": (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry>'
        b'<link href="http://a.test/1"/><updated>2024-05-07T18:30:00Z</updated></entry></feed>'
    ),
}
"""Each lists http://a.test/1 and nothing else."""
