"""Attention of an image model, laid over the image."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from html import escape

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from headscope.analysis.attention.attention_record import Picture
from headscope.web.charts.palette import VARIABLES

SIDE = 12
"""Screen pixels of an image pixel."""


def overlays_html(picture: Picture, maps: Mapping[str, NDArray[np.float32]], query: int, theme: str) -> str:
    """The image once for each named map, its patches tinted by how much attention the token `query` gives them."""
    return f'<div class="hl-overlays">{"".join(_overlay(picture, *one, query, theme) for one in maps.items())}</div>'


def picture_html(pixels: NDArray[np.float64], theme: str) -> str:
    """A small grey image, its darkest value drawn as paper."""
    paper, ink, _ = (_rgb(colour) for colour in _colours(theme))
    shade = (pixels - pixels.min()) / max(float(np.ptp(pixels)), 1e-9)
    image = base64.b64encode(_encoded(paper + shade[..., None] * (ink - paper))).decode()
    return f'<img class="hl-patches hl-thumb" alt="the image" src="data:image/png;base64,{image}">'


def token_names(picture: Picture) -> list[str]:
    """The tokens of the image: the class token, where there is one, and the patches by their place."""
    patches = [f"patch {row}, {column}" for row in range(picture.rows) for column in range(picture.columns)]
    return [*(["class token"] if picture.n_before else []), *["extra token"] * (picture.n_before - 1), *patches]


def _overlay(picture: Picture, name: str, weights: NDArray[np.float32], query: int, theme: str) -> str:
    image = base64.b64encode(_png(picture, weights[query], theme)).decode()
    seen = shares(picture, weights[query])
    row, column = np.unravel_index(int(seen.argmax()), seen.shape)
    return (
        f'<figure><img class="hl-patches" alt="{escape(name)} looks most at patch {row}, {column}" '
        f'src="data:image/png;base64,{image}"><figcaption>{escape(name)}</figcaption></figure>'
    )


def shares(picture: Picture, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """The attention to each patch, [row, column], as a share of the strongest; other tokens are left out."""
    patches = weights[picture.n_before :].reshape(picture.rows, picture.columns)
    return patches / max(float(patches.max()), 1e-9)


def _png(picture: Picture, weights: NDArray[np.float32], theme: str) -> bytes:
    height, width = picture.pixels.shape
    paper, ink, light = (_rgb(colour) for colour in _colours(theme))
    drawn = paper + picture.pixels[..., None] * (ink - paper)
    tint = np.kron(shares(picture, weights), np.ones((height // picture.rows, width // picture.columns)))[..., None]
    mixed = drawn + 0.75 * tint[:height, :width] * (light - drawn)
    return _encoded(mixed)


def _encoded(colours: NDArray[np.float64]) -> bytes:
    pixels = np.kron(np.clip(colours, 0, 255), np.ones((SIDE, SIDE, 1))).astype(np.uint8)
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, format="PNG")
    return written.getvalue()


def _colours(theme: str) -> tuple[str, str, str]:
    return (
        ("#ffffff", "#1b2030", "#4f46e5") if theme == "light" else ("#181c2e", "#e7e9f3", VARIABLES["dark"]["primary"])
    )


def _rgb(colour: str) -> NDArray[np.float64]:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], dtype=np.float64)
