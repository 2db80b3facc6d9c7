"""Follow every internal link of the built site: files and anchors.

    python docs/check_links.py docs/_build/html

Sphinx checks what it resolves itself; this also sees what is written as plain HTML,
what the theme adds and what was included from elsewhere. Ends with status 1, and a
list, if a link leads nowhere.
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Targets that a page links to, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "id" or (tag == "a" and key == "name"):
                self.anchors.add(value)
            elif key in ("href", "src") and value:
                self.targets.add(value)


@cache
def read(path):
    return Page(path.read_text(encoding="utf-8"))


def broken(site):
    """Pairs of a page and a target of it that is not there."""
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.relative_to(site).parts:  # the theme's own templates
            continue
        for target in sorted(read(path).targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = path
            if parts.path:
                file = (path.parent / unquote(parts.path)).resolve()
            anchor = unquote(parts.fragment)
            if not file.is_file():
                yield path, target
            elif anchor and file.suffix == ".html" and anchor not in read(file).anchors:
                yield path, target


if __name__ == "__main__":
    root = Path(sys.argv[1]).resolve()
    if not (root / "index.html").is_file():
        sys.exit(f"there is no site in {root}")
    lost = list(broken(root))
    for page, target in lost:
        print(f"{page.relative_to(root)}: {target}")
    sys.exit(bool(lost))
