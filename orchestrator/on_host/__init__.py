"""Which small programs run on the host itself?

Each module of `programs/` is shipped over the channel and run by the host's own Python (3.9 and newer,
standard library only); none of them is installed there. The convention:

* `main(request)` takes the request (a JSON object) and returns a JSON value, or yields several; each
  is written as one line. Nothing else may be printed on standard output.
* It may import modules of the rooms below it; they are shipped with it. A room's `__init__.py` is not: it
  holds no code.
* `Refusal(code, sentence)` is how it says no; the controller turns it into an error of that code.
* Standard input is free for the program after the request was read (`sys.stdin.buffer`).
"""
