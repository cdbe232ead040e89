from orchestrator.on_host.refusal import Refusal


def main(request):
    raise Refusal(request["code"], "It is refused.")
