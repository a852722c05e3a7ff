"""HTML documents. `document` reads a document with the other modules, in this order:

1. `cost` truncates a document whose tree would take too long.
2. `elements` finds all elements in one pass; `links` and `requisites` find the URLs in them,
   `about` the document's statements about itself, and `headings` its headings.
3. `rendering` and `hidden` make the tree what a browser displays, and `content` reads its blocks
   (`blocks`, `code`).
4. `text` chooses the main text: an extractor finds it, `main` chooses the blocks, and `markdown`
   writes them.

`display` reads the elements that a frame may show, in place of the contents.
"""
