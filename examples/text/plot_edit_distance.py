r"""
How far apart are two words?
============================

The edit distance counts the letters that are put in, taken out and replaced to make one word
another. It is the last entry of a table of the distances of all beginnings of the two, and the
cheapest edits are a path through this table. Distances of many words show which are kin.
"""

# %%
# The word for night in some languages, and the distances of all pairs.

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from panlearn.text import edit_distances, edit_operations

nights = {
    **{"English": "night", "German": "nacht", "Dutch": "nacht", "Swedish": "natt"},
    **{"Danish": "nat", "Icelandic": "nótt", "Latin": "nox", "Italian": "notte"},
    **{"Spanish": "noche", "Portuguese": "noite", "French": "nuit", "Romanian": "noapte"},
    **{"Polish": "noc", "Czech": "noc", "Croatian": "noć", "Lithuanian": "naktis"},
}
languages, words = list(nights), list(nights.values())
distances = edit_distances(words)

# %%
# Left, the table for two words, with the cheapest edits. Right, the languages in the order in which
# a clustering by these distances puts them.

source, target = "saturday", "sunday"
table = edit_distances(
    [source[:i] for i in range(len(source) + 1)], [target[:j] for j in range(len(target) + 1)]
)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
left.imshow(table, cmap="Blues", alpha=0.7)
for (i, j), value in np.ndenumerate(table):
    left.text(j, i, value, ha="center", va="center", fontsize=11)
colours = {"equal": "C2", "replace": "C3", "delete": "C1", "insert": "C4"}
for operation, i, j in edit_operations(source, target):
    step = (i + (operation != "insert"), j + (operation != "delete"))
    left.plot([j, step[1]], [i, step[0]], color=colours[operation], linewidth=3)
for operation, colour in colours.items():
    left.plot([], [], color=colour, linewidth=3, label=operation)
left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=4)
left.set_xticks(range(len(target) + 1), labels=["", *target])
left.set_yticks(range(len(source) + 1), labels=["", *source])
left.set_title(f"{source} to {target}: {table[-1, -1]} edits")

order = leaves_list(linkage(squareform(distances.astype(float)), "average"))
picture = right.imshow(distances[np.ix_(order, order)], cmap="viridis")
labels = [f"{words[k]} ({languages[k]})" for k in order]
right.set_xticks(range(len(order)), labels=[words[k] for k in order], rotation=90)
right.set_yticks(range(len(order)), labels=labels)
right.set_title("night: edits between languages")
figure.colorbar(picture, ax=right, shrink=0.8)
plt.show()

# %%
# What an edit costs is a choice. If a swap of neighbours counts as one edit, typing errors are
# nearer; if letters are only put in and taken out, what is left in common counts.

pairs = [("form", "from"), ("recieve", "receive"), ("carr", "cast")]
for a, b in pairs:
    costs = ({}, {"transposition": "adjacent"}, {"substitute": 2})
    print(a, b, [int(edit_distances([a], [b], **options)[0, 0]) for options in costs])
