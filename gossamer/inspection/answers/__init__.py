"""Answers to an operator's questions, from several parts of the read model."""
