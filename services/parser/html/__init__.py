"""HTML documents: elements, links, metadata, headings, text, and the cost of their trees."""
