"""Operators' changes: planned, reported, recorded and carried out in one way for all callers.

A change begins as a **plan** (`gossamer.changes.plan`). A function such as `plan_block` reads the
current settings and returns the events that the change will append, the events that restore the
earlier settings, and the **effect** for people. It writes nothing.

A dry run stops here and reports the effect (`gossamer.changes.commit.preview`). Otherwise `commit`
appends one `ChangeRecorded` to the topic `audit`, with the actor and the reason, and then the
events of the plan. A change is therefore never carried out without a record. After a crash in
between there is a record without its change: the change is repeated like any other, since all of
them are idempotent.

The commands, the HTTP API and Python programs call the same functions. A plan that would change
nothing is not recorded.
"""
