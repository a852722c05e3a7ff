"""Archived captures: their positions, their texts and their differences, as WARC and WACZ files."""
