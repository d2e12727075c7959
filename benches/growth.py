"""Draws what `cargo bench -p ebbing-benches --bench growth` prints: python benches/growth.py FILE.png < LINES (needs Matplotlib).

Prints the slopes in logarithms between the first and the last two sizes too.
"""

import json
import math
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

KINDS = {"network": ("wide network", "#1f4e79", "o"), "head": ("linear head on features", "#c55a11", "s")}

rows = [json.loads(line) for line in sys.stdin if line.startswith("{")]
axes_named = list(dict.fromkeys(row["axis"] for row in rows))
figure, axes = plt.subplots(1, len(axes_named), figsize=(11, 3.2), sharey=True, constrained_layout=True)
for axis, name in zip(axes, axes_named):
    for key, (label, color, marker) in KINDS.items():
        points = [(row["size"], row[key][1]) for row in rows if row["axis"] == name]
        axis.loglog(*zip(*points), marker=marker, color=color, label=label)

        def slope(a, b):
            return math.log(b[1] / a[1]) / math.log(b[0] / a[0])

        print(f"{name:10} {label:24} slope {slope(*points[:2]):5.2f} at first, {slope(*points[-2:]):5.2f} at last")
    sizes = [row["size"] for row in rows if row["axis"] == name]
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel(name)
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("processor time, s")
axes[0].legend(frameon=False)
figure.savefig(sys.argv[1], dpi=150)
