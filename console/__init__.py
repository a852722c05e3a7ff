"""What a person touches. It wires the services together; they never import it."""
