"""Notices to operators by webhook, mail and topic, and the report by mail.

The life of a notice: every `notify.interval` seconds, `sampling` reads the crawls, and `rules`
compares each condition with the last notice about it. A condition that begins, continues or ends
becomes a `notice_raised` on the topic `notifications`. The `runner` then sends it to each channel,
and appends a `notice_sent` for each.

The topic is the only memory (`memory`). A notice is on it before it is sent, so none is lost in a
crash. A notice that was raised and not sent is sent by the next process, with the same id. Only a
crash between the channel's answer and the `notice_sent` sends a notice twice, which a receiver
recognises by the id.

One process at a time sends (`lease`): the holder of a lock on the folder, or of a claim in the
store of a fleet.
"""
