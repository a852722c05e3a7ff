"""The child processes that read pages, their fork server, and their sandbox.

`pool` runs in the parent and owns the children and the fork server. `child` is the program of the
fork server and of the children. `messages` are exchanged between them. `sandbox` restricts a child,
after `warm_up` has loaded all that it needs.
"""
