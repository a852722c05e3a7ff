"""`scripts/fleet`: a whole fleet on one machine, Kafka and Cassandra included, without Docker.

A folder has the data of the servers, the logs of the services, and `fleet.json`, a list of the
started processes. A process belongs to the fleet if its pid still has the recorded start time. `up`
starts missing processes and stops surplus ones, so it also restarts crashed ones. Nothing monitors
the processes: that is the task of an orchestrator.
"""
