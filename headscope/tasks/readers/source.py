"""A file as it came, from a path or an upload, and its text."""

from dataclasses import dataclass, field
from pathlib import Path, PurePath

from headscope.models.text import shown

MAX_BYTES = 64 * 2**20
MAX_LINES = 1_000_000

SNIFFED = 8192
"""Bytes at the start that decide whether a file is binary."""

WHITESPACE = b"\t\n\r\f"

LONGEST_STEM = 80
LONGEST_PATH = 200
"""Characters of a name and of a path that a message repeats."""


@dataclass(frozen=True)
class Source:
    """A named file content of at most MAX_BYTES; the name is given again in a form that messages can show."""

    name: str
    content: bytes = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _shown_name(self.name))
        if len(self.content) > MAX_BYTES:
            raise ValueError(f"{self.name} is larger than {MAX_BYTES // 2**20} MB, which is the most that is read")

    @classmethod
    def from_path(cls, path: str | Path) -> "Source":
        """Read the file at a path; a ValueError if there is none or it cannot be read."""
        file, named = Path(path), repr(shown(str(path), LONGEST_PATH))
        if not _is_file(file):
            raise ValueError(f"no file at {named}")
        try:
            with file.open("rb") as stream:
                return cls(file.name, stream.read(MAX_BYTES + 1))
        except OSError as error:
            raise ValueError(f"{named} cannot be read: {error.strerror}") from error

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


def _is_file(path: Path) -> bool:
    """Whether there is such a file; no for a name that the system finds too long or strange."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _shown_name(name: str) -> str:
    """The name as messages show it; its end, by which the format is known, stays."""
    suffix = PurePath(name).suffix
    return shown(name.removesuffix(suffix), LONGEST_STEM) + shown(suffix, LONGEST_STEM)


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
