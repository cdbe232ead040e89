def main(request):
    return {}[request["key"]]
