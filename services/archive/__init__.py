"""The archive: writes every capture to WARC files that other tools can read.

**Reading order.** `service` appends captures and commits segments. `exclusions` decides what must
not be archived. `records` makes WARC records in memory. `capture_rows` finds earlier bodies.
`segments` writes, syncs and renames files, and repairs them after a crash. `reading` iterates over
the records of a file, and `index` writes an index of them. `rows` has the rows of segments and
captures. `buffer` and `uploading` move complete files to volumes. `retention` decides what leaves
complete files, `rewriting` writes them again, and `fillers` makes records in place of erased ones.

**The life of a capture.** The service consumes a page with its request and response. `records`
makes three WARC records: the response with the body as received, the request, and metadata about
the discovery of the page. They are appended to the open *segment* of the crawl,
`gossamer-CRAWL-TIME-SERIAL-WRITER.warc.gz.open`. Each record is a gzip member or a zstd frame of
its own, so that it can be read alone. The position of the response is published on
`pages.archived`.

**Why a body is stored once.** A 304 has no body, and many pages have the bytes of an earlier one:
because they did not change, or because they are copies. Their record is a *revisit record*, which
refers to the response with the body. For a 304 that is the body of the URL's last capture with one,
for equal bytes the first response of the crawl with this digest (`PayloadRow`). Either takes one
read. A reference never leads to a record that repair cuts off, since rows of captures and payloads
are written after the length of their segment.

**Why the sync comes before the commit.** A committed page is not delivered again, so it must be on
the disk by then. Before each commit (`settle`) the segment is synced, and the first time its folder
too: after a power failure, a synced file may be missing if its directory entry was not synced. This
costs one sync per commit, and a commit covers many pages.

**Why the store has the committed length.** A file and a transaction cannot be committed together:
after a crash, the file may have records of pages that are not committed. So the length of each open
segment is stored in its writer's row (`SegmentRow`), in the transaction that commits the log. Bytes
beyond that length do not count: the next start truncates them (`segments.repair`), and their pages
are delivered again. Each page is in the archive once, and no file ends in a partial record. On
Kafka and Cassandra the row is flushed just before the commit, not with it. A crash in between
leaves a page twice, with the same record ids. Before it reads the row, an archive claims its
writer's name (`gossamer.store.claims`), so that its writes win over those of earlier runs, even if
its clock is behind.

**Why `.open`.** A tool that copies or indexes WARC files must know which of them will still grow. A
file without `.open` is complete, and gets no more records. A segment larger than `segment_size` or
older than `segment_age` is full: it gets no more records, and its row lists it as full. It is
renamed after that commit, because until then a restart may have to truncate its end. A run that
ends normally completes its last segment; after a crash the next start does. Every run begins a new
segment with its first page. So nothing is appended to a file after a restart, and no file is empty.

**Why fillers.** A record that is erased later is replaced by one of the same length, so that rows,
published positions and indexes of all other captures stay valid (`retention`).

**Why a folder for each writer.** In a fleet, several instances archive at once. Each has its own
folder, row and serials, under a name that is the same after a restart (`service.instance`) and is
part of its file names. So no two instances append to one file or create the same name, and repair,
which truncates open files, never sees a file that another instance is writing. When partitions move
to another instance, files stay in their folder: `pages.archived` names the folder with the file.
"""
