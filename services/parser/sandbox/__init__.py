"""What a process that reads pages may do: think, and answer. No files, no network, no processes.

Native parsers read bytes of strangers, and some day a page will take one of them over. What it can
do then is decided before the first page: by what the process was given (`environment`: none of the
parent's secrets), and by what the kernel refuses it from then on (`enter`). Two walls stand one
behind the other, since not every kernel has both.

*Seccomp* lets through the system calls of a process that computes, manages its memory and uses the
connection that it has; whatever else there is, or will be, is refused. So it opens no file at all,
not even to read a module: whatever reading needs is loaded before (`services.parser.warm_up`).

*Landlock* knows files and connections instead of calls. It grants nothing here, and it keeps a
process from looking into those outside, such as the parent's memory and environment in /proc, and
from signalling them.

Both outlive whatever the process does later, need no privilege once it can gain none itself
(no_new_privs), and hold in containers, below the filter that those have. Where a kernel or a
container's own filter lacks one of them the process goes on without, and its pool says so in the
log.
"""
