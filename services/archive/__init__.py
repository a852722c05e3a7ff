"""The archive: keeps every capture, whole, in WARC files that other tools can read.

**The life of a capture.** A page comes off the log with its request and response. `records` makes
three WARC records of it, in memory: the response (the body as received), the request, and
metadata about how the page was found. They are appended to the open *segment* of its crawl,
`gossamer-CRAWL-TIME-SERIAL-WRITER.warc.gz.open`, one gzip member each, so that any record can be
read alone; where the response lies is published on `pages.archived`. A 304 has no body: its record
is a *revisit*, which refers to the last response that had one. That one is looked up among the
captures of the URL, a read for each 304.

**Why the sync comes before the commit.** Once the log has moved past a page, it does not bring
that page again, so the page must be on the disk by then. Before each commit (`settle`) the
segment is synced, and the first time its folder too: a synced file whose directory entry is not
can vanish in a power cut. It costs one sync for a commit, and a commit covers many pages.

**Why the store knows the committed length.** A file and a transaction cannot be committed
together: a process may die with records in the file whose pages the log is going to bring again.
So the length of each open segment goes into its writer's row (`SegmentRow`), in the transaction
that moves the log. Bytes behind that length do not count: the next start cuts them off
(`files.repair`), and their pages come off the log again. Each page is in the archive once, and no
file ends in half a record. On Kafka and Cassandra the row is flushed just before the commit, not
with it; a death in between leaves a page twice, with the same record ids. Before it reads the row
an archive claims its name (`gossamer.store.claims`), so that what it writes there outranks what
runs before it wrote, whatever their clocks said.

**Why `.open`.** Whoever copies or indexes WARC files must know which of them will still change. A
file without `.open` is complete, and nothing ever changes it. A segment that is larger than
`segment_size` or older than `segment_age` is full: no more goes into it, the row says so, and after
that commit it gets its final name; not earlier, since until the commit its tail may have to be cut
off. A run that ends well completes its last
segment; one that is killed leaves that to the next start. Every run begins a segment of its own
with its first page, so nothing is appended to a file after a restart, and no file is empty.

**Why a folder for each writer.** In a fleet several instances archive at once. Each has a folder,
a row and serials of its own, under a name that it keeps over restarts (`service.instance`) and
that its files carry. So no two append to one file or give one name, and repair, which cuts open
files, never meets one that another instance is writing. When partitions move between instances,
files stay where they are: `pages.archived` names the folder with the file.
"""
