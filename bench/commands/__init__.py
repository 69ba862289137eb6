"""One command a file: parse, call a room's public functions, print."""
