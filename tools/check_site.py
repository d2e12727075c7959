"""Checks that every relative link, picture and anchor of a built site leads somewhere.

    python3 tools/check_site.py target/book
"""

import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote


class Page(HTMLParser):
    """The targets and the anchors of one page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def main(folder):
    top = pathlib.Path(folder).resolve()
    # print.html holds all pages in one, with the links of each.
    pages = {path: Page(path.read_text()) for path in top.rglob("*.html") if path.name not in ("print.html", "404.html")}
    wrong, checked = [], 0
    for path, page in pages.items():
        for target in page.targets:
            if ":" in target.split("/")[0]:
                continue
            place, _, anchor = unquote(target).partition("#")
            leads = (path.parent / place).resolve() if place else path
            checked += 1
            if not leads.exists():
                wrong.append(f"{path.relative_to(top)}: {target} is not there")
            elif anchor and leads in pages and anchor not in pages[leads].anchors:
                wrong.append(f"{path.relative_to(top)}: no #{anchor} in {leads.name}")
    print("\n".join([*wrong, f"{len(pages)} pages, {checked} links, {len(wrong)} broken"]))
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give one folder: python3 tools/check_site.py target/book")
    sys.exit(main(sys.argv[1]))
