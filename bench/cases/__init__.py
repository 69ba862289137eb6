"""What is run: kernel cases and program cases, one list for correctness and latency."""
