"""How the benchmarks write what they measured: Markdown pages in ``docs/``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def prose(text: str) -> str:
    """A paragraph, filled."""
    return textwrap.fill(
        " ".join(text.split()), 92, break_long_words=False, break_on_hyphens=False
    )


def write(name: str, title: str, *parts: str) -> None:
    """Write a page of paragraphs and tables, and say where it is."""
    path = DOCS / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join([f"# {title}", *parts]) + "\n", encoding="utf-8")
    print(path)
