"""The command line. It starts the services, and services never import it."""
