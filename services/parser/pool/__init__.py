"""The processes that read pages: a pool of children, and the messages between it and them."""
