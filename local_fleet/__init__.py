"""`scripts/fleet`: a whole fleet on one machine, Kafka and Cassandra included, without Docker.

A folder holds the servers' data, the services' logs, and `fleet.json`, which says what was started:
a process is ours if the pid that we noted still has the start time that we noted. `up` compares
what should run with what does, starts what is missing and stops what is too many; so it is also
what brings back whatever died. Nothing watches over the processes: that is an orchestrator's part.
"""
