"""Writes docs/reproduction.md from what `ebbing reproduce` left: the table of claims and a gallery.

    python3 tools/make_reproduction.py FOLDER...

A FOLDER is the --out of a run; each figure's folder in it has claims.toml and pictures. Needs Pillow, to make them small.
"""

import pathlib
import re
import shutil
import sys
import tomllib

from PIL import Image

DOCS = pathlib.Path(__file__).parent.parent / "docs"


def order(folder):
    """Figures as in the paper: 2 … 7, then S1 … S8, then those that it does not have; quick before paper scale."""
    name = folder.name.removeprefix("figure-")
    number = re.match(r"(S?)(\d+)", name)
    place = (number[1], int(number[2])) if number else ("T", 0)
    return (*place, "paper" in name, name)


def number(value):
    if value != value:
        return "–"
    return f"{value:.3g}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def rows(claims):
    for claim in claims:
        value = number(claim["value"])
        if "standard_error" in claim:
            value += f" ± {claim['standard_error']:.1g}"
        paper = number(claim["paper"]) if "paper" in claim else ""
        note = claim.get("note", "")
        yield f"| {claim['panel']} | {cell(claim['statement'])} | {value} | {cell(claim['threshold'])} | {paper} | {claim['verdict']} | {cell(note)} |"


def main():
    folders = [path for out in sys.argv[1:] for path in pathlib.Path(out).iterdir() if (path / "claims.toml").exists()]
    if not folders:
        sys.exit("no folder with claims.toml; give the --out folder of ebbing reproduce")
    pictures = DOCS / "reproduction"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    parts, counts = [], {"pass": 0, "fail": 0, "open": 0}
    for folder in sorted(folders, key=order):
        name = folder.name.removeprefix("figure-")
        with open(folder / "claims.toml", "rb") as file:
            told = tomllib.load(file)
        scale = "the paper's scale" if "-paper" in name else "quick scale"
        data = ", ".join(told["data"])
        seeds = f", at most {told['seeds']} seeds" if "seeds" in told else ""
        part = [f"## Figure {told['figure']}, {scale}{seeds} ({data})\n"]
        for picture in sorted(folder.glob("*.png")):
            kept = f"{name}-{picture.name}"
            with Image.open(picture) as image:
                small = image.convert("RGB").resize((image.width * 2 // 3, image.height * 2 // 3), Image.LANCZOS)
                small.quantize(256).save(pictures / kept, optimize=True)
            part.append(f"![Figure {told['figure']}](reproduction/{kept})\n")
        part.append("| panel | claim | value | threshold | paper | verdict | details |")
        part.append("|---|---|---|---|---|---|---|")
        part.extend(rows(told["claim"]))
        for claim in told["claim"]:
            counts[claim["verdict"]] += 1
        parts.append("\n".join(part))
    head = f"""# The paper's figures, reproduced

Made by `ebbing reproduce theory`, `ebbing reproduce trained` (quick scale) and `ebbing reproduce 6 --scale paper` on the
real data sets, and `python3 tools/make_reproduction.py` on what they left. Thresholds are fixed in advance and meant for
the paper's sizes; a claim that fails says why that may be. Captions, settings and tidy data lie beside each figure in the
folder that the command writes. The column *paper* holds numbers that the paper prints.

{sum(counts.values())} claims: {counts['pass']} pass, {counts['fail']} fail, {counts['open']} open (not to be judged at this size).
"""
    (DOCS / "reproduction.md").write_text(head + "\n" + "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
