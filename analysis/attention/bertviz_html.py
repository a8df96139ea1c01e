"""Attention as an interactive picture by bertviz: one HTML document that needs nothing from outside.

Bertviz pastes its parameters into a script as they are, and twice, so it is never given any: only its body and its
script are taken. Weights and tokens stand beside them as JSON in which no character can end a script, and tokens are
only ever set as text. The document allows just the scripts that it was made with, by their hashes, and no request at
all; it is made for a frame with `sandbox="allow-scripts"`.
"""

from __future__ import annotations

import html
import json
import re
import warnings
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import torch

from headscope.analysis.attention.attention_record import Seen
from headscope.analysis.attention.drawing_content import Content, Drawing, content_of

COLOURS = {
    "light": ("#4f46e5", "#c2410c", "#0891b2", "#9d174d", "#15803d",
              "#a21caf", "#854d0e", "#475569", "#0f766e", "#dc2626"),
    "dark": ("#818cf8", "#fb923c", "#22d3ee", "#f472b6", "#4ade80",
             "#e879f9", "#facc15", "#cbd5e1", "#2dd4bf", "#f87171"),
}  # fmt: skip
CAPTIONS = {
    "head": "Left: the token that looks. Right: what it looks at. Click a number to hide that head.",
    "model": "One cell a head: lines lead from the tokens that look to those they look at. Click a cell to enlarge it.",
}
LONGEST_TOKEN = 28
CHARACTER = 9
"""Pixels of a character, roughly."""

ROOT = "bertviz"
ROW = 26
TOP = 44
WIDTH = 970
MARGIN = 90
"""Pixels above and below the picture: the sentences and the choice of a layer."""

_PARTS = re.compile(
    r'<script src="[^"]*"></script>(?P<body>.*?)<script type="text/javascript">(?P<code>.*)</script>', re.DOTALL
)
_ADDRESSES = re.compile(r"require\.config\(.*?\}\);", re.DOTALL)
_PARAMETERS = re.compile(r"const params = (?P<json>\{.*\}); // HACK[^\n]*")


def bertviz_html(seen: Seen, drawing: Drawing) -> str:
    """The whole document; the same for the same input."""
    content = content_of(seen, drawing)
    _, body, code = _from_bertviz(drawing.view)
    colours = COLOURS[drawing.theme]
    shown = {
        "view": drawing.view,
        "layers": content.layers,
        "heads": content.heads,
        "removed": content.removed,
        "colours": [colours[head % 10] for head in content.heads] if drawing.view == "head" else colours,
        "parameters": _parameters(content, drawing),
    }
    note = html.escape(f"{CAPTIONS[drawing.view]} {content.note}".strip())
    thin = round(min(2.2, 0.4 * _cell_row(content)), 2)  # lines of a cell are thinner than its rows
    return _document(
        drawing.theme,
        f'<p class="note">{note}</p><div style="--thin:{thin}px">{body}</div>{_data(shown)}',
        [
            _library("XStatic-jQuery", "jquery.min.js"),
            _library("mpld3", "d3.v5.min.js"),
            _own("js"),
            _resized(code, content, drawing),
        ],
    )


def sandboxed(document: str, title: str, height: int) -> str:
    """A frame around a document in which its scripts can run but reach nothing else."""
    return (
        f'<iframe sandbox="allow-scripts" title="{html.escape(title)}" srcdoc="{html.escape(document)}" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )


def bertviz_height(seen: Seen, drawing: Drawing) -> int:
    """How many pixels high the document is."""
    content = content_of(seen, drawing)
    if drawing.view == "head":
        return MARGIN + TOP + ROW * content.n_tokens
    cells = (_cell_row(content) * content.n_tokens + 10) * len(content.layers) + 38
    enlarged = 18 * content.n_tokens + 55
    return MARGIN + round(max(cells, enlarged))


@cache
def _from_bertviz(view: str) -> tuple[str, str, str]:
    """The parameters as JSON, the body and the script that bertviz makes of a single weight."""
    try:
        import bertviz  # here, for it takes its time and only pictures need it
    except ImportError as error:
        raise ValueError("the picture needs more packages: pip install 'headscope[app]'") from error

    make = {"head": bertviz.head_view, "model": bertviz.model_view}[view]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves the closing of its files to Python
        made = make(
            cross_attention=[torch.zeros(1, 1, 1, 1)], decoder_tokens=[""], encoder_tokens=[""], html_action="return"
        )
    parts = _PARTS.search(made.data)
    found = _PARAMETERS.search(parts["code"]) if parts else None
    if parts is None or found is None:
        raise ValueError("an unknown version of bertviz; allowed is 1.4.1")
    name = json.loads(found["json"])["root_div_id"]
    code = _PARAMETERS.sub("const params = SHOWN.parameters;", _ADDRESSES.sub("", parts["code"]))
    return found["json"].replace(name, ROOT), parts["body"].replace(name, ROOT), code


def _parameters(content: Content, drawing: Drawing) -> dict[str, Any]:
    """What bertviz gives its script, with the numbers and tokens of this drawing."""
    parameters: dict[str, Any] = json.loads(_from_bertviz(drawing.view)[0])
    parameters["attention"][0] |= {
        "attn": content.weights.tolist(),
        "left_text": _short(content.queries),
        "right_text": _short(content.keys),
    }
    parameters["include_layers"] = content.layers
    if drawing.view == "head" and drawing.first is not None:
        layer, head = drawing.first
        if layer in content.layers and head in content.heads:
            parameters |= {"layer": layer, "heads": [content.heads.index(head)]}
    if drawing.view == "model":
        parameters |= {
            "include_heads": content.heads,
            "total_heads": len(content.heads),
            "display_mode": drawing.theme,
        }
    return parameters


def _resized(code: str, content: Content, drawing: Drawing) -> str:
    """The script with sizes that suit a lecture hall and the length of these tokens."""
    widest = max(map(len, _short((*content.queries, *content.keys))))
    box = max(90, CHARACTER * widest + 16)
    if drawing.view == "head":
        numbers = {"TEXT_SIZE": 18, "BOXWIDTH": box, "BOXHEIGHT": ROW, "MATRIX_WIDTH": 260, "CHECKBOX_SIZE": 30}
        changes = {rf"const {name} = [\d.]+;": f"const {name} = {value};" for name, value in numbers.items()}
        changes[r"const TEXT_TOP = [\d.]+;"] = f"const TEXT_TOP = {TOP};"
        changes[r"return d / activeHeads\(\)"] = "return d / Math.sqrt(activeHeads())"  # many heads are not to fade
    else:
        changes = {
            r"const DETAIL_BOX_WIDTH = \d+;": f"const DETAIL_BOX_WIDTH = {box};",
            r"const DETAIL_WIDTH = \d+;": f"const DETAIL_WIDTH = {2 * box + 140};",
            r"config\.thumbnailBoxHeight = [^;]+;": f"config.thumbnailBoxHeight = {_cell_row(content)};",
        }
    for old, new in changes.items():
        code, n_changed = re.subn(old, new, code)
        if n_changed != 1:
            raise ValueError(f"an unknown version of bertviz, without {old}; allowed is 1.4.1")
    return code


def _cell_row(content: Content) -> float:
    """The height of a token in a cell: cells are no higher than wide, so that all are seen at once."""
    return round(min(12.0, 0.8 * WIDTH / len(content.heads) / content.n_tokens, 110 / content.n_tokens), 2)


def _short(tokens: tuple[str, ...]) -> list[str]:
    return [token if len(token) <= LONGEST_TOKEN else token[: LONGEST_TOKEN - 1] + "…" for token in tokens]


def _document(theme: str, body: str, scripts: list[str]) -> str:
    codes = [_inline(script) for script in scripts]
    hashes = " ".join(f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in codes)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html><html lang="en" class="{theme}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>Attention</title><style>{_own('css')}</style></head><body>{body}"
        + "".join(f"<script>{code}</script>" for code in codes)
        + "</body></html>"
    )


def _inline(code: str) -> str:
    """The same code, in which nothing ends the script that holds it."""
    return code.replace("</script", r"<\/script").replace("<!--", r"<\!--").replace("\r\n", "\n")


def _data(shown: dict[str, Any]) -> str:
    """Plain JSON for the scripts; as `<`, `>` and `&` are written as numbers, it cannot hold any markup."""
    text = json.dumps(shown, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="shown">{text}</script>'


@cache
def _library(package: str, file: str) -> str:
    """A script that an installed package carries; it is read, never imported."""
    found = [path for path in distribution(package).files or () if path.name == file]
    if not found:
        raise ValueError(f"no {file} in the package {package}; allowed are the versions of requirements.txt")
    return found[0].read_text(encoding="utf-8")


@cache
def _own(kind: str) -> str:
    return Path(__file__).with_name(f"bertviz_frame.{kind}").read_text(encoding="utf-8")
