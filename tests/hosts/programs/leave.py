import os
import sys


def main(request):
    print("last words", file=sys.stderr)
    sys.stderr.flush()
    os._exit(request["status"])
