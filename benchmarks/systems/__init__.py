"""Collections, the command line, the server and other engines."""
