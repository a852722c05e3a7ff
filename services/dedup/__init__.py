"""Dedup: has this URL ever been met, and is this page's content new?

**How a URL passes.** A seed, or a link of a page that is worth following, is re-keyed by its site
(`urls.discovered`) and comes back to the instance that owns the site. There the URL-seen test
remembers who found it first: `seen.setdefault(fingerprint, via) == via`. The first finder's URL is
admitted; when a record comes again after a crash, it *is* the first finder, so nothing is lost
between remembering and admitting, and nothing is admitted for anybody else.

**How a page passes.** The first page with a text owns the text's digest; any other with the same
digest is a duplicate of it (first writer wins, in the store, since equal pages may be of different
sites). The verdict is published with the document, and the links of a duplicate are not released.
Nor are those that the page asks not to follow, those out of scope, or too deep: what is outside is
not remembered either, so that a wider scope, or a shorter way, can still find it.

The URL-seen set is any mutable mapping: a table of the store on a laptop, a Faust table in a fleet.

**How it runs on Faust.** `faust_app` wires the app; `tables` is the URL-seen set, on the instance's
disk; `changelog` and `restore` make it whole before events flow; `carrier` brings records to the
machine and its answers to the brokers; `transport` is what had to differ in Faust so that nothing
is lost on the way; `worker` runs all that. When partitions are shared out, whoever has them stops,
finishes and commits first: what was done is not done again unless somebody dies.
"""
