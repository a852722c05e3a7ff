"""Dedup: has this URL been seen before, and is the content of this page new?

**Reading order.** `service` dispatches events and runs the URL-seen test. `seen` defines the
URL-seen set; `replicated` and `rocksdb` are its storage in a fleet, and `copies` its copies in the
archive's volumes. `pages` has one handler for
each kind of page. `links` finds, rewrites and releases links, and marks new ones. `content` decides
which page leads a text, `novelty` how much of it is new, and `scores` how much a page is worth.
`documents` compares versions and publishes. `host_steps` and `host_names` learn about hosts,
`originals` decides which of two hosts is the original, `guesses` limits guesses at URLs, `listings`
reads sitemaps and feeds, `erasing` erases. `rows` has the rows that the console reads. `faust` is
the other engine.

**How a URL passes.** The instance that owns the partition of a URL's site tests it. The links of a
page to sites of this instance, most of all to the page's own, are tested with the page. Other
links, seeds, and the many URLs of listings go over the topic `urls.discovered`, keyed by site. The
URL-seen test stores the first finder of a URL: `seen.test(crawl, site, urls, finder)`. The URL is
admitted for its first finder, and dropped for every other one. Links that were admitted lately are
known (`links.KnownUrls`): all pages of a site have its menu.

**Why the first finder wins.** The obvious test stores a new URL and then admits it. If the process
crashes between the two, the URL is lost: the record is consumed again, and its URL is already in
the set. The finder tells such a record from another link to the URL. A redelivered record has the
first finder, so its URL is admitted again and marked as repeated. The frontier then searches its
queue and its visits for the URL. The set stores 64 bits of the finder's name (`seen.hash_finder`);
the full name travels with the URL.

**Which form of a URL is tested.** `links` first applies the URL steps of the crawl's definition,
which are the same for all instances. Some steps hold at some hosts only. `host_steps.HostSteps`
learns this from the texts of the host. So these steps are applied where a URL is tested, by the
instance that owns its site.

**Hosts with several names.** A host may be an alias or a replica of another host. Equal texts under
equal paths show it. Links to the replica are rewritten to its original, and the frontier sends its
queued URLs there (`host_names.HostNames`). The original is the host that canonical links,
redirects, a certificate and other sites name (`originals`). It replaces the replica as the leader
of a text.

**Several crawls.** Each event names its crawl, and is handled by the definition of this crawl. The
URL-seen set, documents, leaders of texts, near duplicates, listings and novelty are separate, so a
page that one crawl has visited is new to another. Evidence about hosts is shared: URL steps that
hold there, replicas, the response for missing pages, and the number of guesses. A crawl applies
what its definition allows. Events of a removed crawl are dropped, except those that concern hosts
or erase its data.

**Guesses.** A guess is a string in a script that looks like a URL. Only a few guesses for each host
pass to the URL-seen test; the number grows if they are pages (`guesses.Guesses`). A guess whose
URL is already in the set always passes. The URL of a dropped guess is not stored in the set, so a
later link to it passes.

**Irrelevant pages.** A page that is not relevant to the crawl gets a verdict, and is then treated
like a page with `noindex` (`pages`). Neither is published. Both have a row like a document, so that
the next visit can tell whether they changed.

**How a page passes.** The first page with a text is the text's leader. Any other page with the same
digest is its duplicate. The verdict is published with the document. Links with `nofollow`, links
out of scope and links that are too deep are not released.

**When links are withheld.** A duplicate text is not enough. The folders of an archive, lists that a
script fills, and pages that say "Redirecting…" have equal texts and different links. Links are
withheld if another page with the same text has released the same links, hosts included. The page
that released the links is stored like the leader of a text, so a redelivered record releases its
links again. A trap that generates folders without end has one text in all of them. So each URL
carries the number of consecutive duplicates on the path of links that led to it. If the number
exceeds `dedup.duplicates_limit`, links are not followed (`trap_duplicates`).

**Scores.** Each document that is compared has a score, which its verdict and its links carry to the
frontier (`scores`). The target of a redirect, and a URL that was rewritten, have the score of the
link that led to them.

**Near duplicates.** A page is a near duplicate if it is not a duplicate, and its simhash differs in
at most `dedup.near_distance` bits from an earlier page of its site (`content.Near`). It is
published with the URL of that page, and its links are followed. It counts as a duplicate for
`dedup.duplicates_limit`, because traps that generate pages often give each page a word of its own,
unless a passage of it is new: each page of a thread repeats the first post. A list in another order
has the words of its leader, and no new passage.

**Known words.** A page may be no copy of one other page, and yet hardly a word of it is new: a
calendar, or a list in another order. `novelty` compares it with the last pages of its site and of
all sites. Such a page counts in the number of pages without a new text on the way to its links, but
its links are never withheld, since a list of known pages may lead to new ones.

**Revisits.** A page that was published before has changed or not (`documents`). It has not changed
if its text has the same digest, or if it differs only in volatile blocks: a date, a counter, an
advertisement (`gossamer.text.volatile`). Otherwise a sketch of the text measures the change
(`gossamer.text.sketch`). The row of the document stores statistics of the volatile blocks and the
sketch, at most 480 bytes. It also stores the change that was found last, so a redelivered record
gets the same verdict. `change` is independent of the verdict: a duplicate that changed is still a
duplicate. A 304 means unchanged. A page that the parser could not read is unreadable, and its row
does not change.

**When a document is published.** A visit publishes a document if the URL had none before, if the
text has changed, or if the page became or ceased to be a copy of another page. Other visits publish
nothing, unless `dedup.republish_unchanged` is set. The row stores the time of the last visit that
published, so a redelivered record of that visit is published again.

**New links as hints.** When a page has changed, its new links and new anchor texts often lead to
other changed pages of its site. A sketch in its row shows which links are new (`links`). They are
marked and pass the URL-seen test like all links. If their URL is in the set, they become hints for
the revisit scheduler.

**Sitemaps and feeds.** They are not documents: nothing is published, and their texts are not
compared with other texts (`listings`). Their entries are released like links, once for each
version. Their dates become hints to the frontier, if the listing may speak for that site.

**How a document is deleted.** Only dedup writes to `pages`, so only dedup publishes tombstones
(`documents`); the parser forwards every response of a server. A 410, a permanent redirect or
`noindex` deletes a document at the first visit, other responses after several
(`gossamer.events.public`). The row counts misses by the time of the visit, so a redelivered record
counts once, and the visit that deleted the document publishes its tombstone again. The frontier
gets a verdict, `gone` or `redirect`. A leader that is gone, or has another text, is replaced
(`content`).

**Why the store decides on digests.** A link is tested by the owner of its site, so the URL-seen set
can be local to a partition. Equal texts come from different sites, and so from different instances.
Only the shared store can decide which page was first, with one conditional write
(`Table.put_if_absent`) that the first writer wins. A redelivered page finds its own URL in the row.

**Why scope and depth come before the URL-seen test.** A URL in the set is never admitted again. If
URLs out of scope were in it, a wider scope could not find them; if URLs that are too deep were in
it, a shorter path would come too late. Also, most links of most pages lead out of scope, and would
fill the set. They are parked: an event takes them to the frontier, which sends them back once the
crawl is wide enough (`gossamer.services.frontier`).

**Links from other sites.** The instance that owns a site tests all links to it, and most of them
lead to URLs in the set. So the instance counts the other sites that link to a page
(`links.InLinks`). The next verdict on the page carries the count, and the frontier raises the
weight of the page.

**Engines.** A standalone crawl has the URL-seen set in a table of the store (`seen`). A fleet has
it on the instance's disk, with a changelog (`replicated`), or in a Faust table: `dedup.engine`.

**Faust.** `app` builds and runs the app. `tables` is the URL-seen set on the instance's disk.
`changelog` has a copy of it. `runner` passes records to the processor and its answers to the
brokers. `transport` is Faust's transport and recovery, changed where they lost records. It restores
the table before events flow. In a rebalance, members finish and commit the records in flight before
they give up partitions. So records are processed twice only after a crash.

**Why Faust's recovery is replaced.** Faust provides the group, the standbys, the streams and a
table on RocksDB with a changelog. But it reads changelogs and events through the same queues and
empties them on the way, commits past unprocessed records, and treats another owner's offset as
restored. With two instances killed in turn, URLs were lost, and others were admitted for the wrong
finder. `docs/decisions/0011-faust-without-its-recovery-seeks-and-acknowledgements.md` has the list.
"""
