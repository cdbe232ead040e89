"""Room: what somebody else has wrapped around the lines of a log."""
