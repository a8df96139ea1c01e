"""A file as it came, from a path or an upload, and its text."""

from dataclasses import dataclass, field
from pathlib import Path, PurePath

MAX_BYTES = 64 * 2**20
MAX_LINES = 1_000_000

SNIFFED = 8192
"""Bytes at the start that decide whether a file is binary."""

WHITESPACE = b"\t\n\r\f"


@dataclass(frozen=True)
class Source:
    """A named file content of at most MAX_BYTES."""

    name: str
    content: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.content) > MAX_BYTES:
            raise ValueError(f"{self.name} is larger than {MAX_BYTES // 2**20} MB, which is the most that is read")

    @classmethod
    def from_path(cls, path: str | Path) -> "Source":
        """Read the file at a path; a ValueError if there is none or it cannot be read."""
        file = Path(path)
        if not file.is_file():
            raise ValueError(f"no file at {str(path)!r}")
        try:
            with file.open("rb") as stream:
                return cls(file.name, stream.read(MAX_BYTES + 1))
        except OSError as error:
            raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from error

    @property
    def suffix(self) -> str:
        """The end of the name, in lower case, with its dot."""
        return PurePath(self.name).suffix.lower()

    def text(self) -> str:
        """Return the content as text, without a byte order mark; a ValueError if it is no UTF-8 text."""
        text = self._decoded()
        if not text.strip():
            raise ValueError(f"{self.name} is empty")
        n_lines = max(self.content.count(b"\n"), self.content.count(b"\r"))
        if n_lines > MAX_LINES:
            raise ValueError(f"{self.name} has {n_lines} lines; at most {MAX_LINES} are read")
        return text

    def _decoded(self) -> str:
        try:
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(self._why_not_utf8()) from error
        if _is_mostly_control(self.content[:SNIFFED]):
            raise ValueError(f"{self.name} is binary; a text file in UTF-8 is needed")
        return text

    def _why_not_utf8(self) -> str:
        if self.content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return f"{self.name} is in UTF-16; save it as UTF-8"
        if b"\0" in self.content:
            return f"{self.name} is binary; a text file in UTF-8 is needed"
        offset = _first_undecodable(self.content)
        line = 1 + self.content.count(b"\n", 0, offset)
        return f"{self.name} is not UTF-8: byte {self.content[offset]:#04x} at offset {offset}, line {line}"


def _first_undecodable(content: bytes) -> int:
    """Return the offset of the first byte that is not UTF-8, counted in the file with its byte order mark."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    raise ValueError("the content is UTF-8")


def _is_mostly_control(head: bytes) -> bool:
    n_control = sum(byte < 32 and byte not in WHITESPACE for byte in head)
    return n_control > 0.3 * len(head)
