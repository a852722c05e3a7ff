"""WARC files on disk: written, completed, and repaired after a crash."""
