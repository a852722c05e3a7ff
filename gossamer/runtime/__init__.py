"""The runtime of a service: a loop that drives its logic along the log, and the process around it.

**One loop, two strategies.** `Loop` (`loop.py`) polls, follows rebalances, reads the control topic,
pauses partitions whose consumers lag or whose state is being restored, and advances the log. A
strategy decides what happens to the records in between. Most logic is a `Processor`
(`processor.py`): it gets events and the time, and returns events, in the order of the log.
`Sequential` (`sequential.py`) reads the rows that the records need, passes the records to the
processor, and wakes it when it is due. Fetching and parsing take time and finish in any order. They
are an `AsyncProcessor` under `Concurrent` (`concurrent.py`), which has many records in progress and
an `OffsetTracker` that determines how far the log may advance.

**The life of a partition** in a loop is one table (`partitions.py`): claimed, catching up, serving,
lost. Its records wait until the processor has restored its state outside the store. Records of
other partitions are handled meanwhile, in about half of the time.

**Why at-least-once.** `advance` flushes the store, appends the messages and commits the offsets, in
this order. A process that crashes in between has committed nothing, so the next one reads and
handles the same records again. Handlers are idempotent, which is necessary anyway if partitions
move between processes. Exactly-once semantics of Kafka would cover the log and not the store.

**Why in groups.** A flush, an append and a commit cost the servers nearly the same for one record
as for thirty. Under load, the log therefore advances at most five or ten times a second
(`MIN_STEP_INTERVAL`, `MIN_ADVANCE_INTERVAL`), past all records of that time. A record for an idle
service is handled at once.

**Why a step is bounded by time.** A loop that does not poll seems stuck: its liveness probe
restarts it, and its group assigns its partitions to other members, which start the same step. A
step therefore takes as many records, and as much due work, as was recently handled within
`service.step_limit`. The first step is small (`StepSize`). Work that exceeds a step is split into
several records.

**Why handlers do not read.** Sequential reads would cost a round trip for each link of a page. A
processor states which rows the records of a step need (`Processor.reads_of`). The loop reads them
together, with retries during short outages, and handlers find them in memory.

**When a handler fails.** A record that cannot be decoded, or that a handler refuses with Poison,
becomes a dead letter. The handler has changed nothing then. An exception that is not a
GossamerError may occur after some changes. All effects of the step are then discarded: the store's
buffers are cleared, and the processor's memory is reloaded from the store. The record that failed
becomes a dead letter, and the other records are handled again. An exception in `wake` is not caused
by a record. It stops the process before anything of the step is written.

**Why `begins_once`.** Executing an order twice would be impolite: the same host would get the same
requests again, perhaps at the same time. The fetcher therefore advances past an order *before* it
starts the order, and appends its report of that (`announce`) before. If the process crashes, the
frontier notices when the fetcher has started again, or when the lease of the order expires.

**Why the fetcher's messages do not wait.** The messages of a record that may be handled again are
held until all earlier records of its partition are done. If they were appended at once, a crash
could cause them to be appended twice. An order is never handled again, because the log has advanced
past it before it starts. Its messages are therefore appended at once, and a slow host does not
delay the pages of other hosts. They also survive an outage of the log: work in progress continues,
and its messages are held until the log accepts them (`concurrent.py`). If the messages were
dropped, their URLs would be requested again.

**Why a loop pauses.** A copy of the store is consistent only if no process writes during the copy.
`quiescing.py` describes how each loop that stores rows records its pause, and how the command that
copies the store checks that no loop has continued too early.

**The process.** In a fleet, `process.py` waits for unavailable servers, opens log and store
(`backends.py`), and stops at SIGTERM. `health.py` serves probes and metrics, and its `ObservedLog`
updates them from the polls of every loop. `outputs.py` adds the trace of a URL to log lines.
"""
