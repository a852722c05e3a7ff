"""What `gossamer export` writes, as rows: documents and what became of them, parts of their
Markdown, and the URLs that a crawl knows. The formats are those of `gossamer.console.exports`."""
