"""Answers with its request."""


def main(request):
    print("a print in a program is no answer")
    return request
