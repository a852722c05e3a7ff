"""The command line: `gossamer crawl`, `gossamer pages`, `gossamer why`."""
