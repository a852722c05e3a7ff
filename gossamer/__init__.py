"""The kernel: words, ports and the loop that every service stands on. It knows no service."""
