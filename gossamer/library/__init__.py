"""The library for Python programs: the public names of `gossamer`.

**One process for each run.** `Crawl.run` starts `gossamer crawl` and reads the folder beside it. It
never forks: a notebook has threads, and a fork with threads may hang. So a crawl that is started by
a program is the same as one in a terminal, and ends and continues like it.

**The end.** The process has a pipe from its program as standard input (`--until-stdin-closes`). A
loop that is left, an exception and Ctrl-C interrupt the process and wait for its end. If the
program dies, the pipe closes, and the process ends as at Ctrl-C. This works on every system,
whichever thread started it; forks of the program, such as workers, close their copy of the pipe.
The process is in a session of its own: a terminal's or a notebook's interrupt reaches the program
alone, which passes it on once.

**Pages** are read from the topic `pages` in the folder. A `Crawl` remembers its position, so that
`run` yields each version once, also when it is called again. A new `Crawl` begins with the pages
that the folder has: a loop that is run again, after the kernel was killed, sees every page.

**Answers** (`status`, `why`, `history`, `diff`) are the JSON of the commands with these names, so
that they are the same for a folder and a fleet. Changes are commands as well, and `gossamer audit`
lists them.

Only `archived` imports the read model, when a page's archived body or versions are read.
"""
