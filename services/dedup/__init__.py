"""Dedup: has this URL ever been met, and is this page's content new?

**How a URL passes.** A seed, or a link of a page that is worth following, is re-keyed by its site
(`urls.discovered`) and comes back to the instance that owns the site's partition. There the
URL-seen test remembers who found it first: `seen.test(site, urls, finder)`. The first finder's URL
is admitted; all others' are dropped.

**Why the first finder wins.** The obvious test, remember the URL if it is new and then admit it,
loses the URL if the process dies between the two: the record comes again, and its URL is known.
The finder tells the cases apart. A record that comes again *is* the first finder, so its URL is
admitted again, marked as repeated: the frontier looks for it in its queue and among its visits.
Nothing is lost, and nothing is admitted for anybody else. The set holds 64 bits of the finder
(`seen.finder_of`); the whole name travels with the URL.

**Under which URL.** A page's links first get the URLs by which the crawl knows them (`links`), by
the steps in its definition, which are the same for all instances. Some steps hold at some hosts
alone. Whether they do the texts of the host show, which are judged here as well (`host_steps`): so
they are applied where a URL arrives to be tested, by the instance that owns its site.

**At which host.** A host may be another one under a second name, or a copy of it: the same texts
show that, and links to the replica are taken for links to its original (`host_names`).

**Which guesses pass.** What a script seems to lead to is let through before the URL-seen test only
as far as such guesses at its host turn out to be pages (`guesses`), or if it is known anyway: what
is left out is not remembered, and a link to it passes later.

**What is kept.** A page that is not relevant to the crawl is judged, and then treated as one that
asks not to be indexed (`pages`). Neither is published, and either has a row as a document has:
another visit says whether it has changed.

**How a page passes.** The first page with a text owns the text's digest; any other with the same
digest is a duplicate of it. The verdict is published with the document. Links that the page asks
not to follow, those out of scope, and those too deep are not released.

**When links are held back.** Not because the text is a duplicate: the folders of an archive, the
pages of a list that a script fills, and all the pages that say "Redirecting…" have the same text
and lead elsewhere. Only if text and links are equal, the page's own host left out, and another page
has released those links (`links`): then the site has a mirror, and one of them is enough. Who
released them is remembered as who had a text first is, so that a page that comes again releases its
links again. A site that makes up folders without an end has the same text in all of them; so the
duplicates on the way to a page are counted, and beyond `dedup.duplicates_limit` in a row its links
are not followed (`trap_duplicates`).

**What a near duplicate is.** A page that is no duplicate, and whose simhash differs in at most
`dedup.near_distance` bits from that of a page that its site had before (`near`). It is published as
one, with the URL of the other, and its links are followed. It is counted on the way as a duplicate
is: a site that makes up pages without an end often gives each a word of its own.

**What another visit says.** A page that was published before has changed or not (`documents`). It
has not if its text has the digest of the visit before, or if nothing else differs than what every
visit changes: a date, a counter, an advert (`gossamer.text.volatile`). Otherwise a sketch of the
text says how much (`gossamer.text.sketch`). Both are kept in the row of the document, 480 bytes at
most, with what the visit was told that found it changed last, so that a record that comes again is
told the same. A duplicate is one still, whether it has changed or not: `change` says that of every
page. After a 304 the page is unchanged without a look at it, and one that the parser could not read
is unread: nothing is known of either but that, and the row stays as it was.

**What is published.** What is news to who knows the newest document: it is the first, or another
text, or it is a copy of another page and was none, or the other way round. A visit that finds
nothing of that publishes nothing, unless `dedup.republish_unchanged` asks for it. The row remembers
which visit was news last: its record is news again when it comes again.

**What a new link says.** A page that has changed links anew to what has changed on its site, or in
other words. A sketch in its row tells which links these are (`hints`). They are marked, pass
the URL-seen test as all others do, and are hints for the revisit scheduler if they are known there.

**What a sitemap or a feed is.** No document: nothing of it is published, and its text is compared
with nobody's (`listings`). What it lists is released as links are, once for each version of it, and
what it says of when a page changed goes to the frontier as hints, if it may speak for that site.

**How a document goes.** Only dedup writes to `pages`, so only it says that a document is gone
(`documents`): the parser tells it of every answer that a server gave. Where a URL says of itself
that there is no document (410, a redirect for good, noindex) one visit is enough, otherwise several
are asked (`gossamer.events.gone`). The row of the document counts them, by when
each visit was made: a record that comes again counts once, and the visit that found the document
gone says so again. The frontier is told as well, by a verdict: `gone`, or `redirect`. A leader that
is gone, or has another text now, leads no longer (`content`).

**Why the store decides on digests.** Links are tested where their site is, so a table local to a
partition is enough for them. Equal texts come from different sites, so from different instances:
only a store that all of them share can say which page was first. It is asked with one conditional
write (`Table.first`), where the first writer wins. A page that comes again finds its own URL there
and is the first again.

**Why scope and depth are judged before the seen test.** What was remembered is never admitted
again. If a URL out of scope were remembered, a wider scope in the next run could not find it any
more; if one too deep were, a shorter way to it would come too late. Besides, most links of most
pages lead out of scope, and would fill the set for nothing. They are parked: an event takes them
to the frontier, which sends them back here once the crawl is wide enough (`services.frontier`).

**Who links to a page.** All links to a site pass here, and those to known URLs go no further. So
the other sites that link to a page are counted here (`links`). The next verdict on the page tells
the frontier, which gives the page more weight.

The URL-seen set (`seen.py`) is a table of the store in a standalone crawl. In a fleet it is a table
on the instance's disk with a changelog (`replicated.py`), or one of Faust: `dedup.engine`.

**How it runs on Faust.** `app` builds the app; `tables` is the URL-seen set, on the instance's
disk; `changelog` and `restore` restore it before events flow; `runner` takes records to the
processor and its answers to the brokers; `transport` is Faust's, changed where it lost records;
`worker` runs all that. In a rebalance, members finish and commit what is under way before they
give partitions up: nothing is done again unless a process dies.

**Why Faust's recovery is replaced.** Faust gives us the group, the standbys, the streams and a
table on RocksDB with a changelog. But it reads changelogs and events through the same queues and
empties these on the way, commits past records that are not done, and takes an offset for restored
that is another owner's. With two instances killed in turn, URLs were lost, and others admitted for
somebody who had not found them first. `docs/decisions` has the list and the figures.
"""
