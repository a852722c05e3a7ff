"""How a service runs: a loop that carries its logic along the log, and the process around it.

**One loop, two strategies.** `Loop` (`loop.py`) polls, follows rebalances, reads the control topic,
pauses partitions whose readers are behind, and advances the log. A strategy says what becomes of
the records in between. Most logic is a `Processor` (`processor.py`): events and the time in, events
out, in the order of the log. `Sequential` (`sequential.py`) reads the rows that the records need,
hands over the records, and wakes the processor when it is due. Fetching and parsing take their time
and end in any order: they are an `AsyncProcessor` under `Concurrent` (`concurrent.py`), which has
many records under way at once, and an `OffsetTracker` (`offsets.py`) that says how far the log may
move.

**The life of a partition** in a loop is one table (`partitions.py`): claimed, catching up, serving,
lost. Nothing is handled until the processor has restored what it keeps outside the store.

**Why at-least-once.** `advance` flushes the store, appends the answers and commits the offsets, in
this order. Whoever dies in between has moved past nothing, so the next one reads the same records
again and does the same again: handlers are idempotent, which is needed anyway where partitions move
between processes. Exactly-once over Kafka would cover the log and not the store.

**Why in groups.** A flush, an append and a commit cost the servers nearly the same for one record
as for thirty. So while much comes, the log moves ten or five times a second (`GROUP`), and past all
that came meanwhile; what comes to a service that was idle is handled at once.

**Why a step is bounded by time.** A loop that does not poll looks dead: its liveness probe kills
it, and its group gives its partitions to others, who begin the same step. So a step takes as many
records, and as much of what is due, as were handled within `service.step_limit` before; the first
one is small (`step_size.py`). What needs more than a step comes as several records.

**Why handlers do not read.** One read after another costs a round trip for each link of a page. A
processor says which rows a step's records need (`Processor.reads_of`), and the loop reads them
together, again while a server hesitates; then handlers find them in memory.

**What breaks a handler.** A record that cannot be read, or is refused as Poison, is a dead letter,
and nothing was changed. Any other error may come half way. Then all that the step has done is
forgotten, in the store's buffers and in the processor's memory, which begins anew from the store;
and the records are handled again, without the one that is to blame. An error in `wake` is nobody's
record: it stops the process, with nothing written.

**Why `begins_once`.** Doing an order twice would be impolite: the same host would be asked again,
perhaps at the same time. So the fetcher advances past an order *before* it begins it. What is then
lost with a process the frontier notices by the order's lease.

**Why the fetcher's answers do not wait.** Where records may be done again, an answer is held back
until everything before it in its partition is done: appended at once, it would be appended again
when the records before it are done again after a crash. An order is behind the log already and
never done again, so each of its answers is appended as it comes: a slow host holds up nobody else's
pages. For the same reason they survive a log that is away: work under way goes on, and its answers
are kept until the log takes them (`concurrent.py`); dropped, the URLs would be asked for again.

**Why it rests.** A copy of the store is consistent while nobody writes. `quiescing.py` has all
loops that keep rows note that they rest, and sees that none has gone on before the copy was made.

**The process.** In a fleet `process.py` waits for servers that are away, opens log and store
(`backends.py`), stops at SIGTERM; `health.py` answers probes and scrapes, which `observed.py` feeds
from the log that every loop polls. `trace.py` puts the trace of a URL on every log line.
"""
