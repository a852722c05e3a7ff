"""HTML documents.

`document` reads a document by means of the other modules: `elements` in one pass, their `links`,
the metadata that the document states `about` itself, and its `headings`. `text` extracts the text,
and `cost` truncates documents whose tree would take too long.
"""
