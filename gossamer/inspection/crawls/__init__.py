"""The crawls of a folder or a fleet, what operators have changed, and records that nobody could
read."""
