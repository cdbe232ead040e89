"""What does the Python on a host run first, so that programs can be handed to it over its standard input?

A bundle is one line and three parts. The line has the parts' sizes in bytes, the magic number of the bytecode and, for a
RUNNER, a token. The parts are the modules as text and as bytecode, both compressed and without those that were sent
before, and the request. Bytecode is taken where it is of this very version of Python; others compile the text.
"""

from __future__ import annotations

_START = r"""
import sys
sys.path = [folder for folder in sys.path if folder]  # a json.py in the home folder is not our json
import gc, json, marshal, os, types, zlib
gc.disable()  # while modules are loaded nothing of them is given up again
if sys.version_info < (3, 9):
    print(json.dumps({"error": {"code": "host_python_old", "message": "python %d.%d is older than 3.9" % sys.version_info[:2]}}), flush=True)
    raise SystemExit(78)
try:
    from _frozen_importlib_external import MAGIC_NUMBER as magic
except ImportError:
    magic = b""
class Later(types.ModuleType):
    def __getattr__(self, name):
        import importlib
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)
if sys.flags.isolated:  # dataclasses import it to describe what describes itself; it takes as long to load as all of ours
    sys.modules["inspect"] = Later("inspect")
source = sys.stdin.buffer
codes = {}
ours = {}
def receive(head):
    sizes = [int(size) for size in head[:3]]
    texts, packed, bundle = parts = [source.read(size) for size in sizes]
    if [len(part) for part in parts] != sizes:
        raise SystemExit(1)
    if packed and head[3] == magic.hex().encode():
        codes.update(marshal.loads(zlib.decompress(packed)))
    elif texts:
        for name, digest, text in json.loads(zlib.decompress(texts)):
            codes[digest] = compile(text, "<%s>" % name, "exec")
    return json.loads(bundle)
def add(name):
    room, _, last = name.rpartition(".")
    if room and room not in ours:
        add(room).__path__ = []
    module = ours[name] = sys.modules[name] = types.ModuleType(name)
    if room:
        setattr(ours[room], last, module)
    return module
def load(bundle):
    for name, digest in bundle["modules"]:
        if name not in ours:
            try:
                exec(codes[digest], add(name).__dict__)
            except BaseException:
                del ours[name], sys.modules[name]
                raise
    return ours[name]
def carry_out(bundle):
    if bundle["deadline"]:
        import signal
        signal.setitimer(signal.ITIMER_REAL, bundle["deadline"])
    module = load(bundle)
    gc.enable()
    out, sys.stdout = sys.stdout, sys.stderr
    def say(value):
        out.write(json.dumps(value) + "\n")
        out.flush()
    try:
        answer = module.main(bundle["request"])
        if isinstance(answer, types.GeneratorType):
            for value in answer:
                say({"value": value})
        else:
            say({"value": answer})
    except ours["orchestrator.on_host.refusal"].Refusal as refusal:
        say({"error": {"code": refusal.code, "message": refusal.sentence}})
    except BrokenPipeError:
        pass
    except Exception as error:
        import traceback
        say({"error": {"code": "host_script", "message": "%s: %s" % (type(error).__name__, error), "traceback": traceback.format_exc()}})
"""

BOOTSTRAP = (
    _START
    + r"""
carry_out(receive(source.readline().split()))
"""
)
"""Runs one bundle; the rest of standard input is the program's."""

RUNNER = (
    _START
    + r"""
for line in iter(source.readline, b""):
    head = line.split()
    bundle = receive(head)
    try:
        load(bundle)  # once: no fork has to
    except (Exception, SystemExit):  # the fork will say so
        pass
    for output in (1, 2):
        os.write(output, head[4] + b"\n")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        status = 1
        try:
            carry_out(bundle)
            status = 0
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else 1
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    del bundle
    status = os.waitpid(child, 0)[1]
    status = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    os.write(1, b"\n%s %d\n" % (head[4], status))
    os.write(2, b"\n%s 0\n" % head[4])
os._exit(0)  # an interpreter that puts everything away before it ends takes as long as a look
"""
)
"""Runs one bundle after the other, each in a fork: modules that they have in common are sent and loaded once."""


def interpreter(python: str, *, site_packages: bool = False, program: str = BOOTSTRAP) -> list[str]:
    """The command that runs bundles: isolated from the user's own modules and environment."""
    flags = ["-B", "-u"] if site_packages else ["-I", "-S", "-B", "-u"]
    return [python, *flags, "-c", program]
