"""The kernel: events, ports and the runtime of all services. It does not know any service."""
