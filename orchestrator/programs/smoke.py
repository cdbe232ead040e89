"""What is the server asked to complete, and did tokens come out?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value, secret


class Completion(Value):
    """What came of one completion: `ok` only when a token came; `late` where the time was over first."""

    ok: bool
    status: int | None
    text: str | None
    tokens: int
    seconds: float
    tokens_per_second: float | None
    error: str | None
    late: bool
    context: int | None
    """Tokens of one request, as the server itself says; None where it does not (or not `ok`)."""
    made_before: int | None
    """Tokens that the engine had made for anybody before and after; None where it does not tell (or `ok`)."""
    made_after: int | None


class Complete(Request[Completion]):
    """`timeout` in seconds, for all of it."""

    program = "smoke"

    host: str
    port: int
    model: str | None
    api_key: str | None = secret(None)
    prompt: str
    max_tokens: int
    counter: str
    """Of all tokens that it has made, in its /metrics."""
    timeout: float
