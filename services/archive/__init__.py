"""The archive: keeps every capture, whole, in WARC files that others can read.

The life of a capture. A page comes off the log with its request and response. `records` makes three
WARC records of it, in memory: the response (the body as received), the request, and metadata about
how the page was come upon. They are appended to the open *segment*, `gossamer-….warc.gz.open`, one
gzip member each, so that any record can be read alone; where the response lies is said on
`pages.archived`.

Before the log moves past the page, the segment is synced, and its length goes into the store, in
the transaction that moves the log. So the store always knows how many bytes of the segment count.
What a crash leaves behind them is cut off at the next start (`repair`), and the pages in it come
off the log again: each page is in the archive exactly once, and no half record is left.

A segment that has grown larger than `segment_size` is full: no more goes into it, the store is told
so, and once that is committed, with the next page, it loses the mark `.open`: now it is complete.
A run that ends well completes its last segment; one that does not leaves that to the
next. Every run begins a segment of its own, with its first page: no file is ever empty.
"""
