"""Writes paper/reproduction.md: the table of claims and a gallery.

    python3 paper/gallery.py [FOLDER...]
    python3 paper/gallery.py --unpack FOLDER

A FOLDER is the --out of `ebbing-paper figure`; each figure's folder in it has claims.toml and pictures. They are kept, small, in
paper/reproduction, from which the page is made: a figure that is computed anew takes the place of its older self, and the paper's
sizes take the place of the quick ones. What the page says of a figure besides stands in paper/reproduction/remarks.toml. Needs Pillow, to
make pictures small.

Cells of trained figures, which take hours, are kept too, also of figures that are not complete: --unpack lays them out in a FOLDER, from
which `ebbing-paper figure FIGURE --scale paper --seeds N --out FOLDER` goes on, on any machine.
"""

import io
import pathlib
import re
import shutil
import sys
import tarfile
import tomllib
from collections import Counter

from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "reproduction"
# Cells of the figures whose networks are trained at the paper's sizes.
CELLS = KEPT / "cells"
TRAINED = ("S4", "S6", "S7-nets", "S8", "branches", "exponents")
# Why claims fail, by figure.
REMARKS = tomllib.loads((KEPT / "remarks.toml").read_text())
# Figures that the paper does not have.
OWN = ("branches", "exponents")

HEAD = """# The paper's figures, reproduced

Made by `cargo run --release -p ebbing-paper -- figure FIGURE --scale paper --seeds 3` (or with other numbers of seeds, as the headings
say) on the real data sets, and `python3 paper/gallery.py` on the results. Thresholds are meant for the paper's sizes and were fixed in
advance; those that were changed are listed at the end, with the reason. For a claim that fails, the cause and the experiment that shows it
are given with its figure. Captions, settings and tidy data are beside each figure in the folder that the command writes. The column *paper*
has the numbers that the paper prints."""

CHANGED = """## Thresholds that were changed, and why

A claim stricter than the paper's own words tests our reading, not the paper. The old values are kept here.

| panel | before | now | because |
|---|---|---|---|
| 3c | shares of variance over the points of the mesh | over the ranges of ρ_shared and ρ_target, each point weighted by the range it represents, with the old shares beside it | the mesh is closer near ρ_target = 0, for the sake of 3d's inset, and the shares counted that; changed after the values were seen (0.374, and 0.481 without ρ_flip = 0) |
| 3d, S1c | bins of γ_RF with edges at 0.005, 0.01, 0.02, 0.03, 0.05 near 0 | as wide as the mesh of ρ_target, which γ_RF follows | a bin with one or two values of ρ_shared shows how τ_F depends on ρ_shared; changed after the values were seen (two claims of 3d failed with −0.648; one of S1c passed that fails now) |
| 4d | 50 draws of pairs of EMNIST classes | 300 | their mean γ_rule scattered by more than the required .02 |
| 4d | \\|γ_rule\\| < .1 γ_RF in every split sequence | mean over draws within 2 standard errors of 0 | random groups of classes make it zero on average, not draw by draw |
| 5f | α_c from F_21 within one grid step | within 1.5 | a kink lies up to that far from the middle of its steepest step |
| 5f | γ_sim law judged on labels as given | on labels with YᵀK⁻¹Y/P = 1 | the law assumes that scale |
| 5f | γ_sim^−2/α_c between 1 and 10 for 0 < γ_sim < .3 | reported | the law diverges as γ_sim → 0 |
| 6a | γ_sim < .05 at 100 % | < .1 | kernels of unrelated tasks overlap by chance, more with larger P |
| 6c, f | γ_sim^−2 within a linearized tolerance | within the power of the tolerance of γ_sim | the same tolerance for a number and its power |
| 7e | larger of G_21, G_22 ≤ 1.15 at the best λ | < 1.5 and below a third of that at λ = 1e6 | the paper says close to 1, without a number |
| S3b | accuracy > .95 | range over λ < .02 | the paper says that it stays high |
| S4 | training error < 1e-3 for all learners | GD; L2 must be at its minimum; for EWC the effect of more steps is reported | a penalty leaves an error of its own; EWC leaves weights without Fisher information free, and they do not converge |
| S4 | gap over the standard errors of both means | over that of the mean difference, seed by seed | learners of one seed have the same tasks and initial weights; changed before the larger size was computed |
| S4 | accuracy on the newest task equal, test data | training and test data, a claim each | as for task 1; changed before the larger size was computed |
| S5 | relative gain larger at L = 1 | absolute gain | deep networks forget little anyway |
| S6 | L = 2 beside L = 2 | L = 2 beside the exact boundary of L = 1, and all claims of L = 1 | as in the paper's caption |
| S6, S7d, g | mid-height of G_22 | of ln G_22, with that of G_22 reported beside it in S6 | G_22 of overfitting networks ranges over decades from one to the next, and half of the largest lies beside it; on the theory's curves both give α_c to 8 % |
| S6 | L = 2: middle of the range of ln G_22, wherever that lies | the same where G_22 at the largest load is no larger than at the last load below 1; elsewhere the critical load lies beyond the largest | a range that lacks its lower end has no middle: networks that overfit up to load 8 were read as critical at 2; changed after the values were seen (−0.55 and −0.59 for "≥ 0") |
| S6, S7d, g, S8 | a claim at each κ | one claim, which holds only where it does at every κ | three penalties of the same networks are one piece of evidence |
| S6 | first task by `levenberg`, three seeds | by descent to a mean squared error of 1e-5, ten seeds of one hidden layer | the paper trains the first task so, and has ten seeds; settled before the figure was computed that way, after ten seeds of one layer of S6 had been seen the old way (16 of 20 claims, 17 with three) |
| S6, exponents | two seeds of two hidden layers; three of one | five; ten | three seeds had been too few for S6; both settled before more were computed (16 of 20 claims of S6 with two seeds, 17 with three and with five; 9 of 13 of the exponents with three and with ten) |
| S7d, g, S8 | first task by `levenberg` | by descent, as in S6 | the paper trains it so; settled before either figure was computed that way; the verdicts are the same (3 of 3 and 5 of 6) |
| S7d, g | every step of α_c in S down | or within 2 standard errors | as "falls" is defined everywhere else |
| S8b | G_22 ≤ 1.25 | ≤ 1.4 | κ = .1 leaves training errors near .1 |
| exponents | L = 2: a load where the exponent of G_22 has fallen | or the largest load, where it has not: it lies beyond | as in S6; changed after the values were seen (none fell up to load 8, which counted as failing) |
| text | extremes over orders within a tenth | standard deviation | the text speaks of a spread |"""


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


def keep(folder):
    """A computed figure's claims and its pictures, made small, in paper/reproduction."""
    name = folder.name.removeprefix("figure-")
    kept = KEPT / name
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    shutil.copy(folder / "claims.toml", kept)
    for picture in folder.glob("*.png"):
        with Image.open(picture) as image:
            small = image.convert("RGB").resize((image.width * 2 // 3, image.height * 2 // 3), Image.LANCZOS)
            small.quantize(256).save(kept / picture.name, optimize=True)
    if "-paper" in name:
        figure = name.split("-paper")[0]
        for older in [*KEPT.glob(f"{figure}-quick*"), *KEPT.glob(f"{figure}-paper*")]:
            if older != kept:
                shutil.rmtree(older)


def pack(folder):
    """The cells of a trained figure as one small file, the same bytes for the same cells."""
    name = folder.name.removeprefix("figure-")
    if name.split("-paper")[0] not in TRAINED or "-paper" not in name:
        return
    CELLS.mkdir(exist_ok=True)
    with tarfile.open(CELLS / f"{folder.name}.tar.xz", "w:xz", format=tarfile.USTAR_FORMAT) as packed:
        for path in sorted((folder / "cells").glob("*.json")):
            content = path.read_bytes()
            entry = tarfile.TarInfo(f"{folder.name}/cells/{path.name}")
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))


def unpack(folder):
    """Lays the kept cells out in `folder`."""
    for path in sorted(CELLS.glob("*.tar.xz")):
        with tarfile.open(path) as packed:
            packed.extractall(folder, filter="data")
            print(f"{len(packed.getnames())} cells of {path.name.removesuffix('.tar.xz')}")


def title(folder, result):
    scale = "the paper's sizes" if "-paper" in folder.name else "quick scale"
    most, *deep = result["seeds"] if isinstance(result.get("seeds"), list) else [result.get("seeds")]
    seeds = f", at most {most} seed{'' if most == 1 else 's'}" if most else ""
    seeds += f" and {deep[0]} with two hidden layers" if deep else ""
    return f"Figure {result['figure']}, {scale}{seeds} ({', '.join(result['data'])})"


def section(folder, result):
    """One figure: what is said of it, pictures and claims."""
    part = [f"## {title(folder, result)}\n"]
    if result["figure"] in REMARKS:
        part.append(REMARKS[result["figure"]].strip() + "\n")
    part += [f"![Figure {result['figure']}](reproduction/{folder.name}/{picture.name})\n" for picture in sorted(folder.glob("*.png"))]
    part += ["| panel | claim | value | threshold | paper | verdict | details |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*part, *rows(result["claim"])])


def counts(figures):
    """How many claims pass, of the paper's figures, of others and of all, at each scale."""
    for scale, words in (("paper", "At the paper's sizes"), ("quick", "At quick scale")):
        verdicts = {True: Counter(), False: Counter()}
        for folder, result in figures.items():
            if f"-{scale}" in folder.name:
                verdicts[result["figure"] in OWN].update(claim["verdict"] for claim in result["claim"])
        own, papers = verdicts[True], verdicts[False]
        for whose, n in (("on the paper's figures", papers), ("on the figures that the paper does not have", own), ("in all", own + papers)):
            judged = n["pass"] + n["fail"]
            if judged and (n == papers or own):
                share = f"{n['pass']} of {judged} claims {whose} pass ({100 * n['pass'] / judged:.1f} %), {n['fail']} fail"
                more = f"; {n['open']} more are numbers that are reported, not judged" if n["open"] else ""
                yield f"{words} {share}{more}."


def failing(figures):
    """A table of what fails, by figure."""
    lines = ["## What fails\n", "| figure | panel | claim | value | threshold |", "|---|---|---|---|---|"]
    for folder, result in figures.items():
        # As mdBook names headings: letters and digits in lower case, blanks as hyphens.
        anchor = re.sub(r"[^\w\- ]", "", title(folder, result).lower()).replace(" ", "-")
        for claim in result["claim"]:
            if claim["verdict"] == "fail":
                link = f"[{result['figure']}](#{anchor})"
                what = f"{cell(claim['statement'])} | {number(claim['value'])} | {cell(claim['threshold'])}"
                lines.append(f"| {link} | {claim['panel']} | {what} |")
    return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["--unpack"] and len(sys.argv) == 3:
        return unpack(pathlib.Path(sys.argv[2]))
    given = [pathlib.Path(out) for out in sys.argv[1:]]
    begun = [path for out in given for path in out.iterdir() if (path / "cells").exists()]
    computed = [path for path in begun if (path / "claims.toml").exists()]
    if given and not begun:
        sys.exit("no folder with cells; give the --out folder of ebbing-paper figure")
    for folder in begun:
        pack(folder)
    for folder in sorted(computed, key=order):
        keep(folder)
    shown = sorted((path for path in KEPT.iterdir() if (path / "claims.toml").exists()), key=order)
    figures = {folder: tomllib.loads((folder / "claims.toml").read_text()) for folder in shown}
    unexplained = {result["figure"] for result in figures.values() for claim in result["claim"] if claim["verdict"] == "fail"} - REMARKS.keys()
    if unexplained:
        print(f"claims fail without a remark: {', '.join(sorted(unexplained))}", file=sys.stderr)
    sections = (section(folder, result) for folder, result in figures.items())
    text = "\n\n".join([HEAD, *counts(figures), failing(figures), *sections, CHANGED])
    (HERE / "reproduction.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
