"""The parser: a page as received in, what it says out. Pure, and suspicious of every byte.

The life of a page. `service` takes a PageFetched from the log and gives it to the `pool`, which
passes it to a `child`: a process that does nothing but call `page.parse`, with a limit on time
and on memory that the kernel enforces, because native code on hostile input can neither be
interrupted nor trusted from within. There the content encoding is undone (`body`), the type
decided (`kind`), the characters decoded (`charset`, `labels`), what would make an HTML parser
quadratic cut off (`scan`), the document read as browsers read it (`html`, `links`, `directives`),
and its main text and language found (`text`). What comes back is one PageParsed, and the log
moves on.

A page that crashes its child, takes too long or too much memory is a dead letter with its bytes;
the child is replaced, and nothing else is lost. Only a child imports the native parsers: the
process that holds the log never touches what came from the Web.

Redirects are one link. Of any other response that is not 2xx only the fact is passed on. What is
neither HTML nor plain text has no links and no text yet, and is told apart by its bytes.
"""
