"""What launchers, collectors, screens and people put around the lines of a log: each form makes a carried log of a bare one."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable

Form = Callable[[list[str]], list[str]]
POD = "vllm-kimi-7d9f8b6c4-x2k9p"


def each(template: str) -> Form:
    """A template for each line: {text}, {n} its number, {s} and {ms} of a clock, {level}."""

    def form(lines: list[str]) -> list[str]:
        return [
            template.format(
                text=text, n=n, s=f"{n // 60 % 60:02}:{n % 60:02}", ms=f"{n * 37 % 1000:03}",
                level=("ERROR" if "ERROR" in text else "INFO"), lower=("error" if "ERROR" in text else "info"),
            )
            for n, text in enumerate(lines, 1)
        ]  # fmt: skip

    return form


def in_json(make: Callable[[int, str], object]) -> Form:
    return lambda lines: [json.dumps(make(n, text)) for n, text in enumerate(lines, 1)]


def logfmt(template: str) -> Form:
    return lambda lines: [
        template.format(text=json.dumps(text), n=n, s=f"{n // 60 % 60:02}:{n % 60:02}")
        for n, text in enumerate(lines, 1)
    ]


def boxed(width: int) -> Form:
    def form(lines: list[str]) -> list[str]:
        inner = max(width, *(len(text) for text in lines))
        return ["┌" + "─" * (inner + 2) + "┐", *(f"│ {text:{inner}} │" for text in lines), "└" + "─" * (inner + 2) + "┘"]  # fmt: skip

    return form


def several_pods(lines: list[str]) -> list[str]:
    """Stern over two pods: what the other one says is its own."""
    other = "vllm-router-5c7b9d-qq1zz router GET /health 200"
    told: list[str] = []
    for n, text in enumerate(lines):
        told.append(f"{POD} vllm {text}")
        if n % 40 == 0 and (not text or text.startswith("(")):
            told.insert(len(told) - 1, other)
    return told


def wrapped(width: int) -> Form:
    return lambda lines: [
        text[start : start + width] for text in lines for start in range(0, max(len(text), 1), width)
    ]


def folded(width: int) -> Form:
    """As `fold -s` does."""

    def parts(text: str) -> list[str]:
        if len(text) <= width:
            return [text]
        at = text.rfind(" ", 0, width) + 1
        at = at if text[:at].strip() else width
        return [text[:at], *parts(text[at:])]

    return lambda lines: [part for text in lines for part in parts(text)]


def in_html(lines: list[str]) -> list[str]:
    return ["<pre><code>", *(html.escape(text) for text in lines), "</code></pre>"]


def rows(lines: list[str]) -> list[str]:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["Date", "Host", "Service", "Message"])
    for n, text in enumerate(lines):
        writer.writerow([f"2026-02-20T21:{n // 60 % 60:02}:{n % 60:02}Z", "gpu7", "vllm", text])
    return table.getvalue().rstrip("\n").split("\n")


def one_line(lines: list[str]) -> list[str]:
    return ['{"code": 500, "logs": ' + json.dumps("\n".join(lines) + "\n") + "}"]


def in_a_hash(lines: list[str]) -> list[str]:
    """As fluent-bit prints its records, which are those of Ruby."""
    return [f'[{n}] kube.vllm: [[1740087307.{n:09}, {{}}], {{"log"=>{json.dumps(text)}, "stream"=>"stderr"}}]' for n, text in enumerate(lines)]  # fmt: skip


def chained(*forms: Form) -> Form:
    def form(lines: list[str]) -> list[str]:
        for each_ in forms:
            lines = each_(lines)
        return lines

    return form


FORMS: dict[str, Form] = {
    "compose": each("vllm-1  | {text}"),
    "compose, of three": each("llm-server           | {text}"),
    "swarm": each("llm_vllm.1.x7k2m0p9q1@gpu7    | {text}"),
    "k8s ui": each("[llm]   | {text}"),
    "docker json": in_json(lambda n, text: {"log": text + "\n", "stream": "stderr", "time": f"2026-02-20T21:35:07.{n:09}Z"}),
    "docker logs -t": each("2026-02-20T21:{s}.{ms}002010Z {text}"),
    "cri": each("2026-02-20T21:{s}.{ms}002010Z stderr F {text}"),
    "kubectl --prefix": each("[pod/" + POD + "/vllm] {text}"),
    "k9s": boxed(120),
    "k9s with stamps": chained(each("2026-02-20T21:{s}.{ms}Z {text}"), boxed(80)),
    "lens": each("vllm 2026-02-20T21:{s}+01:00 {text}"),
    "stern": each(POD + " vllm {text}"),
    "stern with stamps": each(POD + " vllm 2026-02-20T21:{s}.{ms}Z {text}"),
    "stern of several": several_pods,
    "srun -l": each("0: {text}"),
    "srun -l of many": each(" 13: {text}"),
    "mpirun": each("[1,3]<stderr>:{text}"),
    "logging": each("2026-02-20 21:{s},{ms} - runner - INFO - {text}"),
    "logging with levels": each("2026-02-20 21:{s},{ms} {level:8} [worker] {text}"),
    "logging, short": each("INFO:runner:{text}"),
    "loguru": each("2026-02-20 21:{s}.{ms} | {level:<8} | runner:pump:{n} - {text}"),
    "logrus": logfmt('time="2026-02-20T21:{s}Z" level=info msg={text}'),
    "logfmt of others": logfmt("ts=2026-02-20T21:{s}Z caller=pump.go:{n} component=vllm line={text} job=7"),
    "zap": each("2026-02-20T21:{s}.{ms}Z\tINFO\tpump/pump.go:91\t{text}"),
    "glog": each("I0220 21:{s}.{ms}123  2711 pump.go:91] {text}"),
    "json message": in_json(lambda n, text: {"ts": n, "level": "info", "message": text}),
    "json body": in_json(lambda n, text: {"timestamp": n, "body": text, "resource": {"host": "gpu7"}}),
    "json nested": in_json(lambda n, text: {"stream": {"pod": POD}, "values": [[str(n), text]]}),
    "json of a cloud": in_json(lambda n, text: {"insertId": f"x{n}", "resource": {"labels": {}}, "textPayload": text}),
    "journal as json": in_json(lambda n, text: {"_PID": "43", "PRIORITY": "6", "MESSAGE": text, "_HOSTNAME": "gpu7"}),
    "journal": each("Feb 20 21:{s} gpu7 vllm[4312]: {text}"),
    "journal short-iso": each("2026-02-20T21:{s}+0000 gpu7 vllm[4312]: {text}"),
    "journal short-monotonic": each("[ 1234.{ms}123] gpu7 vllm[4312]: {text}"),
    "journal with unit": each("Feb 20 21:{s} gpu7 vllm.service[1]: {text}"),
    "syslog": each("<30>1 2026-02-20T21:{s}Z gpu7 vllm 4312 - - {text}"),
    "supervisord": each("2026-02-20 21:{s},{ms} DEBG 'vllm' stdout output: {text}"),
    "gpustack": each("2026-02-20T21:{s}+08:00 - gpustack.worker.inference_server - INFO - [kimi-k2-1] {text}"),
    "lemonade": each("[2026-02-20 21:{s}.{ms}] [vllm] [info] {text}"),
    "pm2": each("0|vllm     | {text}"),
    "foreman": each("21:{s} llm.1  | {text}"),
    "github": each("2026-02-20T21:{s}.{ms}4567Z {text}"),
    "github of a job": each("serve (gpu)\tRun vllm\t2026-02-20T21:{s}.{ms}4567Z {text}"),
    "gitlab": each("2026-02-20T21:{s}.{ms}123Z 01O {text}"),
    "jenkins": each("[2026-02-20T21:{s}.{ms}Z] {text}"),
    "jenkins parallel": each("21:{s}  [gpu-node] {text}"),
    "buildkite": each("\x1b_bk;t=17400{n:08}\x07{text}"),
    "azure": each("2026-02-20T21:{s}.{ms}4567Z ##[error]{text}"),
    "ansible": each("gpu7 | STDOUT | {text}"),
    "ts": each("Feb 20 21:{s} {text}"),
    "ts -s": each("00:{s} {text}"),
    "tee'd with colours": each("\x1b[32m[vllm]\x1b[0m {text}"),
    "ray serve": each("(ServeReplica:llm:VLLMDeployment pid=4312) {text}"),
    "indented": each("    {text}"),
    "quoted": each("> {text}"),
    "quoted twice": each("> > {text}"),
    "fenced": lambda lines: ["It does not start any more. This is all that it says:", "", "```console", *lines, "```", "", "Any idea?"],
    "numbered": each("{n:6}\t{text}"),
    "numbered as grep does": each("{n}:{text}"),
    "grep with a file": each("logs/vllm.log:{n}:{text}"),
    "numbered with a bar": each("{n:4} | {text}"),
    "tail of several": each("==> {text}"),
    "html": in_html,
    "rows": rows,
    "one line": one_line,
    "wrapped at 80": wrapped(80),
    "wrapped at 120": wrapped(120),
    "folded at 80": folded(80),
    "colours without escape": each("[0;36m(vllm)[0m {text}"),
    "cloudwatch": each("2026-02-20T21:{s}.{ms}000+00:00 vllm/main/0a1b2c3d4e5f60718293a4b5c6d7e8f9 {text}"),
    "kibana": each("Feb 20, 2026 @ 21:{s}.{ms}\tgpu7\tvllm\t{text}"),
    "logcli": each('2026-02-20T21:{s}+01:00 {{app="vllm", pod="vllm-0"}} {text}'),
    "skypilot": each("(head, rank=0, pid=2345) {text}"),
    "airflow": each("[2026-02-20, 21:{s} UTC] {{subprocess.py:93}} INFO - {text}"),
    "fluent-bit": in_a_hash,
    "cat -A": lambda lines: [text.replace("\t", "^I").replace("\x1b", "^[") + "$" for text in lines],
    "block of yaml": lambda lines: ["kind: Event", "log: |", *(f"  {text}" for text in lines)],
    "dask": each("2026-02-20 21:{s},{ms} - distributed.nanny - INFO - worker[tcp://10.0.0.4:41233]: {text}"),
    "serilog": each("[21:{s} {level} Runner.Engine] {text}"),
    "slurm of hosts": each("gpu-a100-07: [2026-02-20T21:{s}] {text}"),
    "backticks": each("`{text}`"),
    "list of python": lambda lines: ["[", *(f"    {text!r}," for text in lines), "]"],
    "bytes of python": lambda lines: [repr((text + "\n").encode()) for text in lines],
}  # fmt: skip
