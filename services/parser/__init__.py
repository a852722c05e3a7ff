"""The parser: reads fetched pages and publishes their contents.

Reading order
-------------
1. `service`: the processor on the log. One `PageFetched` in, one `PageParsed` out.
2. `page`: reads one response by the reader of its media type. `result`: the kind, identity and
   hazards of the result.
3. `received`: the input of a reader. The readers: `html.document`, `listings` (sitemaps, feeds and
   JSON), `files` (PDF and office files).
4. `html`: an HTML document: its `elements`, `links`, what it states `about` itself, `headings`,
   `text`, and the `cost` of its tree. `links`, `text`, `dates`, `charset`, `xml` and `simhash`
   serve all readers.
5. `pool`: the child processes, the fork server, and the sandbox.

How a page is read
------------------
`service` takes a `PageFetched` off the log and sends it to the `pool`. A child process calls
`page.parse`:

1. It decodes the content codings (`gossamer.web.coding`), detects the media type
   (`gossamer.web.sniffing`) and calls the reader of that type.
2. The HTML reader decodes the characters (`charset`). It truncates documents that would take an
   HTML parser quadratic time (`html.cost`). Lexbor builds the tree.
3. One pass finds the `elements`. The links, the metadata and the headings are read from them.
4. The main text and its language are extracted (`html.text`, `text`).
5. Links in HTTP headers are added, and robots directives are applied as the settings say.

The parent adds the identity and the kind of the page (`result`). Dedup handles a page by its kind.

Why processes
-------------
Fast HTML parsers are native code. Hostile HTML can make them crash, loop or exhaust memory, and no
thread can interrupt them. Only the children import native parsers. Each child has its own
connection, so a crash costs at most one page. Process pools of libraries lose more
(docs/design/parser.md, Why).

Why a fork server
-----------------
Loading the native parsers and their tables takes most of a second of CPU. The fork server loads
them when the first page arrives, and then forks a child in milliseconds. Most memory is shared. The
fork server starts with an environment without secrets and never receives a page, so its children
inherit no data.

Why the kernel enforces the limits
----------------------------------
A timer in the parent does not outlive the parent, and a Python signal handler does not run while
native code loops. The child sets unhandled alarms before each page. They count the child's CPU
time, so a busy machine does not fail a page. A limit on the address space makes the allocation fail
in the child, before the kernel's OOM killer picks a process.

Why a sandbox
-------------
A page that exploits a native parser finds no passwords in the environment, and the kernel refuses
files, connections and processes (`pool.sandbox`). A child cannot open files, so everything that a
reader needs is loaded before the first page (`pool.warm_up`).

Why documents are truncated
---------------------------
Lexbor takes quadratic time, or worse, for some documents: tens of thousands of nested elements,
tags with as many attributes, formatting elements without an end. Each such page would cost a child
its time limit. `html.cost` scans the tags, estimates the time for the tree, and truncates the
document where the estimate reaches a second. Most pages need only a quick check.

Retries and dead letters
------------------------
A page is poison if it exceeds its time limit. It becomes a dead letter with its bytes. A child that
ends for another reason may have been killed by an operator or the OOM killer, so a second child
reads the page. If that one ends too, or if a reader fails with an exception or for lack of memory,
the page is read without the part on which the reader failed (`parts`). A page that fails outside of
these parts, or once more, is poison. Children that end before they are ready do not count against a
page: the parser itself is broken, and it stops. The log still gets a `PageParsed` for a poison
page, of the kind that says it is unreadable, so that the page is visited again like any other. Only
a few dead letters per host are stored (`service.DeadLetterLimiter`), and the frontier backs off
from a host with one unreadable page after another. A page on which a reader has failed does not
count: the host is not to blame.

Why lexbor
----------
Title and links must be those that a browser sees, and that depends on how errors are repaired.
Lexbor builds the tree that the HTML standard prescribes in all 1,296 tests of html5lib.

Why trafilatura
---------------
It has the best F1 for the main text (0.96 on 181 real pages). It takes half of the time of reading
a page, although elements that never contain main text are removed first. `text = "fast"` selects
resiliparse, and `"off"` disables the main text. If the main text is tiny and the page has visible
text, the visible text is stored instead: comments in a blog are the posts of a forum.

Pages, and versions of a page, are compared by their compared text: the title and all visible text,
with white space folded. Main text omits navigation and would make the pages of a paginated list
equal. On a page with few words, the sources of pictures are a part of the compared text: the pages
of a gallery may have the same words. The digest, the sketch and the blocks are hashes of this text,
the latter two without ages (`gossamer.text.ages`), and `gossamer diff` shows it. If only the title
is visible, the digest uses the decoded body.
The simhash uses the main text: near duplicates are searched within a site, whose pages share their
menus. Without main text, it uses the visible text. It is that of the package `simhash`, with
another hash of its features.

Limitations
-----------
- Scripts are not executed. A string in a script that looks like a URL of the same site is a guess.
  It is marked as a guess and listed last, and dedup admits guesses by how many of a host's were
  pages. A page that shows nothing without scripts is marked `needs_rendering`.
- A redirect yields one link. Other responses outside 2xx yield only their status, and a 304 its
  validators: it has no body and may repeat only some of them.
- A document of a type without a reader has a digest, but no links and no text. JSON yields title
  and links, office files title, author and dates.
"""
