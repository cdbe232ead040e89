"""What does a log say: which process, which exception, which root cause, which finding? Pure, no I/O."""
