"""The runtime of a service: a loop that drives its logic along the log, and the process around it.

**One loop, two strategies.** `Loop` (`loop.py`) polls, follows rebalances, reads the control topic,
pauses partitions whose consumers lag, and advances the log. A strategy decides what happens to the
records in between. Most logic is a `Processor` (`processor.py`): it gets events and the time, and
returns events, in the order of the log. `Sequential` (`sequential.py`) reads the rows that the
records need, passes the records to the processor, and wakes it when it is due. Fetching and parsing
take time and finish in any order. They are an `AsyncProcessor` under `Concurrent`
(`concurrent.py`), which has many records in progress and an `OffsetTracker` (`offsets.py`) that
determines how far the log may advance.

**The life of a partition** in a loop is one table (`partitions.py`): claimed, catching up, serving,
lost. No record is handled until the processor has restored its state outside the store.

**Why at-least-once.** `advance` flushes the store, appends the messages and commits the offsets, in
this order. A process that crashes in between has committed nothing, so the next one reads and
handles the same records again. Handlers are idempotent, which is necessary anyway if partitions
move between processes. Exactly-once semantics of Kafka would cover the log and not the store.

**Why in groups.** A flush, an append and a commit cost the servers nearly the same for one record
as for thirty. Under load, the log therefore advances five or ten times a second (`GROUP`), past all
records of that time. A record for an idle service is handled at once.

**Why a step is bounded by time.** A loop that does not poll seems stuck: its liveness probe
restarts it, and its group assigns its partitions to other members, which start the same step. A
step therefore takes as many records, and as much due work, as was recently handled within
`service.step_limit`. The first step is small (`step_size.py`). Work that exceeds a step is split
into several records.

**Why handlers do not read.** Sequential reads would cost a round trip for each link of a page. A
processor states which rows the records of a step need (`Processor.reads_of`). The loop reads them
together, with retries during short outages, and handlers find them in memory.

**When a handler fails.** A record that is unreadable, or is refused as Poison, becomes a dead
letter, and nothing has changed. Any other error may occur halfway. Then all effects of the step are
discarded, in the store's buffers and in the processor's memory, which is reloaded from the store.
The records are handled again without the one that failed. An error in `wake` has no such record: it
stops the process, and nothing is written.

**Why `begins_once`.** Executing an order twice would be impolite: the same host would get the same
requests again, perhaps at the same time. The fetcher therefore advances past an order *before* it
starts the order. If the process crashes, the frontier detects the loss by the order's lease.

**Why the fetcher's messages do not wait.** If records may be handled again, their messages are held
until all earlier records of the partition are done. If they were appended at once, a crash would
make them be appended again. The log has already advanced past an order, which is never executed
again. Each of its messages is therefore appended at once, and a slow host does not delay the pages
of others. For the same reason they survive an outage of the log: work in progress continues, and
its messages are held until the log accepts them (`concurrent.py`). If they were dropped, the URLs
would be requested again.

**Why it pauses.** A copy of the store is consistent only if no process writes. In `quiescing.py`
all loops that store rows record that they pause, and the command checks that none has continued
before the copy was complete.

**The process.** In a fleet, `process.py` waits for unavailable servers, opens log and store
(`backends.py`), and stops at SIGTERM. `health.py` serves probes and metrics, and `observed.py`
updates them from the polls of every loop. `trace.py` adds the trace of a URL to log lines.
"""
