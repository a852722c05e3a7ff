"""The five services. They never import each other: they meet on the log."""
