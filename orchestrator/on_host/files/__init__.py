"""Reading what somebody else may have put in a file's place."""
