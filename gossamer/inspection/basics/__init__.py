"""Words, figures, pages of lists, and folders: what all views of a crawl need."""
