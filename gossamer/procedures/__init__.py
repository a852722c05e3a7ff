"""Procedures: they copy or change the state of a whole crawl, outside of the services.

A service changes the rows of one partition because of one record. A procedure concerns all rows,
records and files of a crawl, so an operator calls it. Commands, the HTTP API and programs call the
same functions, which are told the two ports (log and store) or the settings to open them. They
yield a line for each step when it is done, or return a value that describes the result.

**The seven.** `snapshot` describes a copy of a crawl while it runs, `restore` returns to it, and
`align` makes log and store agree after one of them was lost or replaced. `move` takes a crawl to
another place, `resize` divides it among another number of partitions, `suffixes` gives its hosts
the sites of another Public Suffix List, and `erase` removes everything about a URL, a host or a
site.

**The parts of a crawl**, and what a procedure does with them:

- *Rows*: `move` copies all tables of a crawl. `erase` rewrites the tables that no service can
  search. `resize` divides the rows of partitions. `snapshot` lets SQLite or the operator's tool
  copy the tables.
- *Records*: `move` copies the topics that no service consumes, `erase` writes tombstones for dead
  letters, `align` restores `control`. `resize` gives topics further partitions, or creates them
  again without their records, which were consumed.
- *The URL-seen set*: `move` copies it between its two forms, `resize` copies sites to their new
  partitions, `suffixes` makes the sets of new sites, and dedup itself erases. In a snapshot it is a
  table of a folder, and stays on the log of a fleet.
- *WARC files* stay where they are. `snapshot` lists them, and `restore` reports which ones are
  missing. Archives erase in them.
- *The identity*: `move` states it at the target before and after the copy, `resize` changes its
  number of partitions last and `suffixes` its list, `align` states it in a new store. `snapshot`
  records it, and `restore` compares it.

**One walk.** `copying.Copy` walks rows, records and the URL-seen set for `move`, `resize` and
`erase`; each of them says which tables and topics, and how a row or a record changes. Three things
stay apart:

- Rows of partitions are sums and lists, which are divided and merged, not copied one by one:
  `gossamer.services.frontier.procedures.resizing` does it for `move` and `resize`.
- A snapshot must be the state of one instant. A walk through two ports takes minutes, and other
  processes write in between.
- A restore reads the replaced database to its end before it writes anything, because that database
  may be damaged anywhere. Alignment compares offsets, and copies only identity and settings.

**After a crash** the same call is repeated with the same arguments:

- *snapshot*: a folder without `snapshot.json` is not a snapshot; name a new one. A quiesced fleet
  continues at its limit.
- *restore*: a folder's database is replaced as a whole, last. A fleet is only checked.
- *align*: each step leaves a fleet that can be aligned.
- *move*: the crawl can continue at the source until the copy is complete, and no service starts at
  an unfinished target. A repetition clears the target, or only releases it if it is complete.
- *suffixes*: `control` says that the change has begun, and no service starts until a repetition
  has completed it.
- *resize*: the former rows stay until the identity has the new number; a repetition divides them
  again.
- *erase*: the record on `audit` comes first and the request to the services last. A repetition
  erases the rest.

**Layers.** `console` → `procedures` → `changes`, because an erasure is a recorded change.
`standalone` and `local_fleet` run crawls, and use no procedure.
"""
