"""What tests of several folders lean on; nothing of it is about the crawler."""
