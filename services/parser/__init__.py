"""The parser: a page as it was received goes in, what it says comes out.

The life of a page. `service` takes a `PageFetched` off the log and gives it to the `pool`, which
passes it to a `child`: a process that does nothing but call `page.parse`. There the content codings
are undone (`gossamer.web.coding`) and the type decided (`gossamer.web.sniffing`), by which one of
the `readers` gets the page. Of HTML the characters are decoded (`charset`, `guessing`), the text
cut off where it would make an HTML parser quadratic (`scan`), and the document read as browsers
read it: its `elements` are found in one pass, and from them where it leads (`collected`, `targets`,
`guesses`, `requisites`), what it says of itself (`about`, `linked_data`) and its `headings`. Last,
the text that is kept of it and its language are found (`extraction`), what the headers lead to is
added (`headers`), and what the page asks for is set against the settings. What comes back is one
`PageParsed`. The parent states its kind (`answers`), by which dedup handles it, and the log moves
on.

Why processes. What reads HTML quickly is native code, and hostile HTML can make it crash, loop
without end or swallow memory; no thread can interrupt it. So only a child imports the native
parsers, and the process that holds the log never looks inside a page. Each child has a connection
of its own and shares nothing with the others, so that its death, at whatever instant, costs at most
one page. The libraries for such pools lose more than that when a worker is killed (decision 4).

Why a fork server. Loading the native parsers and their tables takes most of a second of CPU. One
process loads them when the first page comes, and forks a child whenever one is wanted: in
milliseconds, with most of its memory shared. It starts with an environment without secrets and
never sees a page, so its children find nothing in it.

Why the kernel enforces the limits. A timer in the parent ends nothing once the parent is dead, and
a signal handler in Python does not run while native code loops. Alarms that the child sets before
each page, and does not handle, end it in both cases; they go by its CPU time, so that no page is
condemned for the machine's other work. A limit on its address space makes the
allocation fail in the child that asks for too much, before the machine runs short of memory and the
kernel kills whatever is largest.

Why a sandbox. A page that takes over a native parser should find nothing there: no passwords in the
environment, and a kernel that refuses files, connections and other processes (`sandbox`). What
reading needs is therefore loaded before the first page (`warm_up`): a reader that loads something
only when it meets it cannot.

Why a scan. Lexbor takes quadratic time, or worse, for what no page for people is: elements nested
by the ten thousand, a tag with as many attributes, formatting that nobody ends. Each such page
would cost a child its time limit. The scan follows the tags (`tokens`), estimates what the tree
will take (`effort`), and cuts the document where that is a second; for nearly all pages a glance is
enough.

Why a page is tried twice. A page that takes too long is to blame, and so is one at which the child
reports that memory ran out: it becomes a dead letter with its bytes, and nothing else is lost. A
child that died of anything else may have been killed by an operator, or by a kernel short of
memory. Its page goes to a second child, and only if that one dies too is the page to blame.
Children that die before they are ready condemn no page: then the parser itself cannot run, and it
stops. Who waits for the verdict on a page that is to blame hears that it was not read
(`answers`): it is visited again like any other. Of a host that has one such page after another
few are kept (`letters`), and the frontier leaves it alone for a while, so that it does not take the
children from all others.

Why lexbor. Title and links must be those that a browser sees, and on the real Web that depends on
how errors are repaired. Lexbor builds what the HTML standard prescribes in all 1,296 of html5lib's
tests, in native code.

Why trafilatura, and why not for the digest. It finds the main text best (F1 0.96 on 181 real
pages), but it is half of the work of reading a page, although what is never main text is cut out of
the tree before it builds its own. So there is a faster one, and it can be turned off. Where it
finds no main text to speak of, though a reader sees words, all that is `visible` takes its place:
what is a comment in a blog is the text in a forum. It leaves navigation out: the pages of a
paginated list would often be duplicates of each other, and their number in a row is limited. The
digest that finds duplicates is therefore of the title and all visible text, white space folded;
where there is none but the title, of the decoded body (decision 1).

Why a simhash of the main text. Near duplicates are looked for within a site, where menus are the
same everywhere; the visible text takes its place only where no main text is made. It is what the
package `simhash` says (`simhash`), so that others can make the same.

What is no link for certain. Scripts are not run. What looks like a URL of the page's site in them
is a guess, marked as one and the last of its page; dedup tries as many of a host as turn out to be
pages. Where nothing is to be seen without scripts the page says so (`rendering`).

What is not read. A redirect is one link. Of any other response that is not 2xx only the fact is
passed on, and of a 304 the validators: it has no body, and may repeat only some of them. What is of
a type without a reader is recognised by its header or its first bytes, and has a digest, but no
links and no text. Of JSON there are title and links, of office files title, author and dates.
"""
