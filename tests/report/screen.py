"""What a terminal shows of what was written to it: the few sequences that the renderer uses, any other is an error."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """Rows of text and a cursor; it never scrolls. A character past the last column is an error for live lines."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: list[str] = [""]
        self.row = 0
        self.column = 0
        self.styles: set[str] = set()

    def feed(self, text: str) -> None:
        end = 0
        for found in _TOKEN.finditer(text):
            assert found.start() == end, f"unknown sequence at {text[end : end + 12]!r}"
            end = found.end()
            parameter, command, move, plain = found.groups()
            if command == "m":
                self.styles.update(parameter.split(";"))
            elif command == "A":
                self.row -= int(parameter or 1)
                assert self.row >= 0
            elif command == "J":
                assert parameter in ("", "0")
                self.rows = self.rows[: self.row + 1]
                self.rows[self.row] = self.rows[self.row][: self.column]
            elif command is not None:
                raise AssertionError(f"unknown sequence {found[0]!r}")
            elif move == "\r":
                self.column = 0
            elif move == "\n":
                self.row, self.column = self.row + 1, 0
                if self.row == len(self.rows):
                    self.rows.append("")
            else:
                self._write(plain)
        assert end == len(text)

    def _write(self, text: str) -> None:
        line = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = line[: self.column] + text + line[self.column + len(text) :]
        self.column += len(text)

    @property
    def text(self) -> str:
        return "".join(f"{row.rstrip()}\n" for row in self.rows).rstrip("\n") + "\n"
