r"""
Answers with their sources
==========================

A question is answered from passages that are found for it, and the answer names them. Without a
language model the answer is the nearest sentence; with one, it is what the model writes, and its
citations are checked. What is not in the documents is not answered.
"""

# %%
# The topics that Python's ``help`` knows, cut into paragraphs, and four questions, of which the
# last has no answer there.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.retrieval import BM25, RAG, HybridRetriever

passages, ids = [], []
for name, text in topics.items():
    for number, part in enumerate(text.split("\n\n")):
        if len(part.split()) > 12:
            passages.append(part)
            ids.append(f"{name}:{number}")

questions = {
    "When is the finally clause executed?": "try",
    "Which statement is a null operation?": "pass",
    "How is the operator precedence summarised?": "operator-summary",
    "Who composed the Goldberg Variations?": None,
}
model = RAG().fit(passages, ids=ids)
for question in questions:
    print(f"{question}\n  {str(model.ask(question)).replace(chr(10), chr(10) + '  ')}\n")

# %%
# A generator is any function from a prompt to a text, or a `transformer.GPT`. This one cites a
# passage that does not exist; the citation is taken out and reported.


def careless(prompt):
    """Quote the first passage, and invent a source."""
    first = prompt.split("\n\n[1] ")[1].split("\n\n")[0].rstrip(".")
    return f"{first} [1]. Everybody knows that [9]."


answer = RAG(generator=careless).fit(passages, ids=ids).ask("Which statement is a null operation?")
print(answer)
print("cited, but not there:", answer.unknown)

# %%
# The same question for every topic, made of its name, measures two retrievers: whether a passage of
# the topic is among the first k. And what counts as near? The first sentence of a passage is a
# question to the rest of it. Every second topic is indexed, so that the questions about the others
# have no passage. The right picture shows how many of both are answered; the dotted line is what
# counts as near if nothing is said.

asked = [f"explain {name.replace('-', ' ')}" for name in topics]
relevant = [[i for i in ids if i.startswith(f"{name}:")] for name in topics]
kept = [i for i, wanted in enumerate(relevant) if wanted]
depths = (1, 2, 5, 10, 20)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for label, retriever in {"BM25": BM25(), "BM25 and topics": HybridRetriever()}.items():
    found = retriever.fit(passages, ids=ids).search([asked[i] for i in kept], max(depths))
    pairs = list(zip(kept, found, strict=True))
    hit = [np.mean([any(h in relevant[i] for h in f.ids[:k]) for i, f in pairs]) for k in depths]
    left.plot(depths, hit, "o-", label=label)
left.set(xlabel="passages that are looked at", ylabel="share with one of the topic", ylim=(0, 1))
left.set_xticks(depths)
left.legend()
parts = {}  # a paragraph that several topics have is that of the first
for name, text in zip(ids, passages, strict=True):
    first, _, rest = text.partition(". ")
    if len(rest.split()) > 12:
        parts.setdefault(" ".join(first.split()), (name, " ".join(rest.split())))
indexed = set(list(topics)[::2])
here = [name.split(":")[0] in indexed for name, _ in parts.values()]
half = RAG().fit([rest for (_, rest), there in zip(parts.values(), here, strict=True) if there])
least = np.linspace(0.1, 0.9, 9)
found = np.array(
    [[a.found for a in half.set_params(min_relevance=value).ask(list(parts))] for value in least]
)
right.plot(least, found[:, here].mean(axis=1), "o-", label="with a passage")
right.plot(least, found[:, np.logical_not(here)].mean(axis=1), "o-", color="C3", label="without")
right.axvline(0.5, color="grey", ls=":")
right.set(xlabel="min_relevance", ylabel="share of questions answered", ylim=(0, 1))
right.legend()
plt.show()
