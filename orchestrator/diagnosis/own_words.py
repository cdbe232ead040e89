"""Does an exception say itself what is wrong, who raised it, and what does it ask for?

Code that refuses something raises one of Python's own exceptions with a sentence about it. Where no patch knows the sentence,
the place that raised it still tells what kind of failure it is; so it does where code and the library beside it were not written
for each other. A plug-in's own exceptions, bare assertions and failed look-ups say nothing of that sort.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from orchestrator.diagnosis.incident import Raised
from orchestrator.engines.log_grammar import Failures

_REFUSALS = frozenset(
    (
        "ValueError", "RuntimeError", "NotImplementedError", "ImportError", "ModuleNotFoundError", "OSError", "EnvironmentError",
        "FileNotFoundError", "PermissionError", "TimeoutError", "ConnectionError", "ValidationError", "AssertionError",
        "Exception",
    )
)  # fmt: skip
_SENTENCE = 4
"""Words of a message that is a sentence."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_REFUSES = re.compile(
    r"\b(?:must|should|expect(?:s|ed)?|requir(?:es|ed?)|(?:un)?support(?:s|ed)?|(?:in)?valid|unknown|cannot|can't|could not|couldn't"
    r"|unable|failed|not (?:found|available|implemented|divisible|allowed|permitted|compatible|match(?:ed)?|exist)|does(?:n't| not)"
    r"|only|missing|mismatch|incompatible|exceed(?:s|ed)?|larger|smaller|greater|less|too (?:large|small|long|many|few|old)|no longer"
    r"|timed out|(?:pars(?:er|ing|e)|syntax) error|refused|denied|specified|provided|leaves? no|needs?|please|longer|shorter|incorrect|wrong|(?:mutually )?exclusive"
    r"|not (?:installed|set|defined|enabled|prepared|configured)|(?:is|are|was|were|has|have) (?:not|no)|no \w+ (?:was )?found|out of range)\b",
    re.IGNORECASE,
)
_MISFITS = ("TypeError", "AttributeError", "ImportError")
_OF_ANOTHER_VERSION = re.compile(
    r"got an unexpected keyword argument|missing \d{1,3} required (?:positional|keyword)|takes \d{1,3} positional argument|cannot import name '"
    r"|(?:module '[\w.]{1,120}'|'\w{0,80}(?:Config|Tokenizer|TokenizerFast|Processor|Args|Namespace)' object) has no attribute '"
)
"""How code finds out that the library beside it, or what was read for it, is not the one it was written for. Of any other object
that lacks something its own code is at fault."""
_PACKAGE = re.compile(r".{0,400}/(?:site|dist)-packages/[^/]{1,80}/")
_PASSED_ON = (
    "*/torch/_ops.py", "*/torch/nn/modules/module.py", "*/torch/utils/_contextlib.py", "*/_custom_ops.py", "*/contextlib.py",
    "*/functools.py", "*/importlib/*", "<frozen*", "*/concurrent/futures/*", "*/asyncio/*", "*/typing.py", "*/logger.py",
    "*/pydantic/*", "*/tenacity/*", "*/tvm_ffi/*", "*/_inductor/cpp_builder.py",
)  # fmt: skip
"""Files whose frames only hand on what others refuse."""
_ASKS = re.compile(
    r"(?:^|(?<=[.;!?:,]\s)|(?<=\n)|(?<=\s))(?P<asks>(?:(?:[Pp]lease|[Tt]ry|[Cc]onsider|[Mm]ake sure|[Ee]nsure|[Yy]ou (?:can|may|need|should|must))\b"
    r"|(?:Use|Set|Specify|Pass|Install|Upgrade|Increase|Decrease|Reduce|Lower|Raise|Enable|Disable|Remove|Add|Run|Update|Provide|Change)\b"
    r"|(?<=[,;] )(?:set|use|specify|pass|install|upgrade|increase|decrease|reduce|lower|raise|enable|disable|remove|add|run)\b)"
    r"[^\n]{8,400})"
)
_END = re.compile(r"(?<=[\w`'\")\]])[.!](?=\s|$)")
_HEADING = re.compile(
    r"^(?P<name>[\w.]{0,200}ValidationError: )\d{1,4} validation errors? for (?P<model>[\w.\[\]-]{1,120})\n\s{0,8}"
)
_TRAILER = re.compile(
    r" {0,4}\[type=\w{1,80}, input_value=.{0,4000}?, input_type=\w{1,80}\](?:\s{1,20}For further information visit \S{1,200})?",
    re.DOTALL,
)
"""What pydantic puts around the sentence of whoever raised: what was checked, what it was given, where its own manual is."""
_APPENDED = re.compile(
    r"\n(?:Search for `\w{1,80}' in https://docs\.nvidia\.com\S{0,200} for more information\.|(?:CUDA|HIP) kernel errors might be asynchronously reported"
    r"|For debugging consider passing (?:CUDA|AMD)_\w{1,40}=\d|Compile with `TORCH_USE_\w{1,20}_DSA`|Device-side assertion tracking was not enabled).{0,200}"
)
"""Lines that stand below every error of a GPU that torch tells, whatever it is."""
_COMPILER = re.compile(
    r"\b(?:nvcc|ptxas|cicc|nvlink|hipcc|clang|cc1plus|collect2|g\+\+|gcc|ld)\b.{0,200}\b(?:fatal|[Ee]rror)\b {0,6}:|^\S{1,400}[(:]\d{1,7}.{0,12}: (?:fatal )?error\b"
    r"|undefined reference to |cannot find -l"
)
_NAMED = re.compile(
    r"--[a-z][\w-]+|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|(?<=pip install )[\w.\[\]=<>-]+|(?<=nstall )(?!the\b|from\b|this\b|with\b|and\b|one\b|pip\b)[A-Za-z][\w.\[\]=<>-]{2,}"
)
_LONGEST = 300


def refused_in(raised: Raised, wanted: tuple[str, ...]) -> bool:
    """Whether code in a file of one of these shell patterns refused something, with a sentence about it."""
    file = _raiser(raised)
    return (
        speaks(raised)
        and any(fnmatchcase(file, pattern) for pattern in wanted)
        and not _is_added(file, raised)
    )


def speaks(raised: Raised) -> bool:
    """Whether the exception is one of Python's own with a sentence that says what is wrong, rather than that something else is."""
    name = (raised.exception or "").rpartition(".")[2]
    _, _, message = raised.text.partition(":")
    if raised.role != "initiating" or (name == "Exception" and raised.gives_no_reason):
        return False
    # the operating system's words, or a macro's, are no code's own sentence
    by_others = "[Errno" in message or "call failed at" in message
    if name in _MISFITS and _OF_ANOTHER_VERSION.search(message):
        return True
    return (
        name in _REFUSALS
        and not by_others
        and len(_WORD.findall(message)) >= _SENTENCE
        and _REFUSES.search(message) is not None
    )


def asked_for(text: str) -> str | None:
    """The sentence of a message that says what to do, None where it has none."""
    asks = _ASKS.search(text)
    if asks is None:
        return None
    sentence = asks["asks"]
    end = _END.search(sentence)
    sentence = (sentence[: end.start()] if end else sentence).strip()
    return sentence if len(sentence) <= _LONGEST else None


def without_frame(text: str, failures: Failures) -> str:
    """An exception's text without what stands around whoever's sentence it is: pydantic's frame, and what torch and the
    engine append to every one."""
    appended = failures.appended.search(text)
    text = _APPENDED.sub("", text[: appended.start()] if appended else text).rstrip()
    headed = _HEADING.match(text)
    if headed is None:
        return text
    return _TRAILER.sub("", f"{headed['name']}{headed['model']}: {text[headed.end() :]}").rstrip()


def by_a_compiler(text: str) -> str | None:
    """The line with which a compiler, linker or assembler that a message quotes says what it refused, None where there is none."""
    lines = (line.strip() for line in text.splitlines()[1:])
    return next((line for line in lines if _COMPILER.search(line)), None)


def decided(text: str) -> str:
    """A message without what else a build printed, where it quotes one: with its first line stands what its compiler refused."""
    decides = by_a_compiler(text)
    return f"{text.splitlines()[0]}\n{decides}" if decides else text


def left_out(asked: str, advised: str) -> bool:
    """Whether what is asked for names an option, a variable or a package that is not in what is `advised` anyway."""
    return any(name not in advised for name in _NAMED.findall(asked))


def _is_added(file: str, raised: Raised) -> bool:
    """Whether a file is of a package that puts itself into the engine: nobody who knows the engine knows what it wants, nor does a
    folder of its that has the engine's name show that the engine refused."""
    package = _PACKAGE.match(file)
    hooks = f"{re.escape(package[0])}(?:[^/]{{1,80}}/){{0,4}}integrations?/[^/]{{1,80}}/" if package else ""
    return bool(hooks) and any(re.match(hooks, frame.file) for frame in raised.frames)


def _raiser(raised: Raised) -> str:
    """The file that raised it: the innermost one that does more than hand on."""
    files = (frame.file for frame in reversed(raised.frames))
    return next((file for file in files if not any(fnmatchcase(file, each) for each in _PASSED_ON)), "")
