"""Whole masks at one click: the least important, a role, a layer, some at random, the opposite."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.web.cards.sweep_card import newest_order
from headscope.web.charts.metric_text import point_text
from headscope.web.grid.lab_masks import Lab
from headscope.web.runs.requests import known
from headscope.web.runs.role_facts import roles_run

WAYS = ("Least important", "A point of the sweep", "A role", "A layer", "Random", "Invert")


def least_important(grid: HeadGrid, scores: Mapping[HeadId, float], k: int) -> frozenset[HeadId]:
    """The k heads of lowest score; ties in the order of the grid."""
    order = sorted(scores, key=lambda head: (scores[head], grid.positions[head]))
    return frozenset(order[:k])


def random_heads(heads: Collection[HeadId], k: int, seed: int) -> frozenset[HeadId]:
    """Any k of the heads; the same for the same seed."""
    return frozenset(random.Random(seed).sample(sorted(heads), min(k, len(heads))))


def inverted(heads: Collection[HeadId], mask: frozenset[HeadId]) -> frozenset[HeadId]:
    """Those that were kept are off, and those that were off are kept."""
    return frozenset(heads) - mask


def of_role(roles: Mapping[str, Mapping[str, Mapping[str, object]]], role: str) -> frozenset[HeadId]:
    """All heads that have a role."""
    return frozenset(HeadId.parse(address) for address, one in roles[role].items() if one["verdict"])


def show_presets(lab: Lab, scores: Mapping[HeadId, float], then: Callable[[], None]) -> None:
    """Which preset, how much of it, and the button that applies it."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="presets")
    way = row.selectbox("Preset", WAYS, key="preset-way", width=170)
    mask: frozenset[HeadId] | None = None
    if way in ("Least important", "Random"):
        k = int(row.number_input("How many heads", 0, len(lab.heads), len(lab.heads) // 4, key="preset-k", width=150))
        if way == "Random":
            seed = int(row.number_input("Seed", 0, 10_000, 0, key="preset-seed", width=110))
            mask = random_heads(lab.heads, k, seed)
        elif scores:
            mask = least_important(lab.grid, {head: scores[head] for head in lab.heads}, k)
    elif way == "A point of the sweep":
        mask = _point(lab, row)
    elif way == "A role":
        mask = _role(lab, row)
    elif way == "A layer":
        layers = [f"{bank.bank} {layer}" for bank in lab.grid.banks for layer in range(len(bank.layers))]
        bank, _, layer = row.selectbox("Layer", layers, key="preset-layer", width=170).partition(" ")
        mask = lab.mask | frozenset(lab.grid.layer(bank, int(layer)))
    else:
        mask = inverted(lab.heads, lab.mask)
    row.button(
        "Apply", key="preset-apply", icon=":material/content_cut:", disabled=mask is None, on_click=lab.put,
        args=(mask or frozenset(), then),
    )  # fmt: skip


def _point(lab: Lab, row: st.delta_generator.DeltaGenerator) -> frozenset[HeadId] | None:
    order = newest_order(lab.choice)
    if not order:
        row.caption("Start a sweep first; then its masks can be taken from here.")
        return None
    masks = {f"{point['removed']} heads, {point_text(point)}": point["mask"] for point in order}
    named = row.selectbox("Point", list(masks), len(masks) // 3, key="preset-point", width=240)
    return lab.grid.parse(masks[named])


def _role(lab: Lab, row: st.delta_generator.DeltaGenerator) -> frozenset[HeadId] | None:
    found = known(roles_run(lab.choice))
    if found is None:
        row.caption("Open the Roles page once; then heads can be chosen by role here.")
        return None
    counts = {role: len(of_role(found.found["roles"], role)) for role in found.found["roles"]}
    there = [role for role, count in counts.items() if count]
    if not there:
        row.caption("No head of this model has a known role.")
        return None
    role = row.selectbox(
        "Role", there, format_func=lambda one: f"{one.replace('_', ' ')} ({counts[one]})", key="preset-role", width=190
    )
    return lab.mask | of_role(found.found["roles"], role)
