"""HTML documents.

`document` reads a document by means of the other modules: `cost` truncates documents whose tree
would take too long, `elements` are found in one pass, with their `links`, the metadata that the
document states `about` itself, and its `headings`. `text` extracts the text.
"""
