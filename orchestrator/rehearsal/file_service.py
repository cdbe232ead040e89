"""How does the rehearsal's SSH server answer requests for files (SFTP)?"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import paramiko
from paramiko import SFTPAttributes, SFTPHandle, SFTPServer

if TYPE_CHECKING:
    from typing_extensions import Buffer

OK = paramiko.SFTP_OK  # type: ignore[attr-defined]


def status_of(act: Callable[[], object]) -> int:
    """Carry something out; the status that tells how it went."""
    try:
        act()
    except OSError as error:
        return SFTPServer.convert_errno(error.errno or 0)
    return int(OK)


class FileService(paramiko.SFTPServerInterface):
    """The files of this machine as this user; relative paths begin at the rehearsal's home."""

    def __init__(self, server: paramiko.ServerInterface, home: Path) -> None:
        super().__init__(server)
        self._home = home

    def _real(self, path: str) -> Path:
        return self._home / path

    def canonicalize(self, path: str) -> str:
        return os.path.normpath(self._real(path))

    def list_folder(self, path: str) -> list[SFTPAttributes] | int:
        try:
            with os.scandir(self._real(path)) as entries:
                return [
                    SFTPAttributes.from_stat(one.stat(follow_symlinks=False), one.name) for one in entries
                ]
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)

    def stat(self, path: str) -> SFTPAttributes | int:
        try:
            return SFTPAttributes.from_stat(self._real(path).stat())
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)

    def lstat(self, path: str) -> SFTPAttributes | int:
        try:
            return SFTPAttributes.from_stat(self._real(path).lstat())
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)

    def open(self, path: str, flags: int, attr: SFTPAttributes) -> SFTPHandle | int:
        mode = attr.st_mode if attr.st_mode is not None else 0o666
        try:
            return OpenFile(os.open(self._real(path), flags | os.O_CLOEXEC, mode), flags)
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)

    def remove(self, path: str) -> int:
        return status_of(self._real(path).unlink)

    def rename(self, oldpath: str, newpath: str) -> int:
        """As the protocol's first version has it: nothing is overwritten."""
        if os.path.lexists(self._real(newpath)):
            return int(paramiko.SFTP_FAILURE)  # type: ignore[attr-defined]
        return self.posix_rename(oldpath, newpath)

    def posix_rename(self, oldpath: str, newpath: str) -> int:
        return status_of(lambda: self._real(oldpath).replace(self._real(newpath)))

    def mkdir(self, path: str, attr: SFTPAttributes) -> int:
        return status_of(lambda: self._real(path).mkdir(attr.st_mode or 0o777))

    def rmdir(self, path: str) -> int:
        return status_of(self._real(path).rmdir)

    def chattr(self, path: str, attr: SFTPAttributes) -> int:
        return status_of(lambda: SFTPServer.set_file_attr(str(self._real(path)), attr))

    def symlink(self, target_path: str, path: str) -> int:
        return status_of(lambda: self._real(path).symlink_to(target_path))

    def readlink(self, path: str) -> str | int:
        try:
            return str(self._real(path).readlink())
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)


class OpenFile(SFTPHandle):
    """A file that a client has open."""

    def __init__(self, descriptor: int, flags: int) -> None:
        super().__init__(flags)
        self._descriptor = descriptor

    def close(self) -> None:
        os.close(self._descriptor)

    def read(self, offset: int, length: int) -> bytes | int:
        try:
            return os.pread(self._descriptor, length, offset)
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)

    def write(self, offset: int, data: Buffer) -> int:
        def put() -> None:
            at, rest = offset, bytes(data)
            while rest:
                done = os.pwrite(self._descriptor, rest, at)
                at, rest = at + done, rest[done:]

        return status_of(put)

    def stat(self) -> SFTPAttributes | int:
        try:
            return SFTPAttributes.from_stat(os.fstat(self._descriptor))
        except OSError as error:
            return SFTPServer.convert_errno(error.errno or 0)

    def chattr(self, attr: SFTPAttributes) -> int:
        def change() -> None:
            if attr.st_mode is not None:
                os.fchmod(self._descriptor, attr.st_mode)
            if attr.st_size is not None:
                os.ftruncate(self._descriptor, attr.st_size)
            if attr.st_atime is not None and attr.st_mtime is not None:
                os.utime(self._descriptor, (attr.st_atime, attr.st_mtime))

        return status_of(change)
