import time


def main(request):
    time.sleep(request["seconds"])
