"""How does a program on the host say no?"""


class Refusal(Exception):
    """A refusal with a stable code and one sentence; nothing was changed when it is raised."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
