"""Edit distances: of two strings, of all pairs of two lists, and the edits themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from panlearn.core.memory import require_memory
from panlearn.core.threads import n_threads, threads
from panlearn.text import _bit_parallel as bits
from panlearn.text import _weighted_edits as weighted
from panlearn.text._bit_parallel import Strings

Transposition = Literal["adjacent", "damerau"]
Letters = str | Sequence[Hashable]
_SWAPS = {None: weighted.NONE, "adjacent": weighted.ADJACENT, "damerau": weighted.DAMERAU}
_OPERATIONS = ("equal", "replace", "delete", "insert", "transpose")
_WIDEST = 256  # patterns in a block
_BLOCK_WORDS = 1 << 21
_FEW_LETTERS = 1 << 10  # code points up to here are numbers enough
_CHUNK = 1 << 20
_SMALL = 1 << 16  # cells of the programme that are done sooner than handed to threads


class Edit(NamedTuple):
    """One step of an alignment: what is done, and where in either string.

    Attributes
    ----------
    operation : {"equal", "replace", "delete", "insert", "transpose"}
    source : int
        The place in the first string; with ``"transpose"`` the first of two.
    target : int
        The place in the second string.
    """

    operation: str
    source: int
    target: int


def edit_distance(
    a: Letters,
    b: Letters,
    *,
    insert: float = 1,
    delete: float = 1,
    substitute: float = 1,
    transposition: Transposition | None = None,
    score_cutoff: float | None = None,
) -> int | float:
    r"""Give the cost of the cheapest edits that make one string another.

    .. math::
        d(a, b) = \min_{\text{edits } a \to b} \ \sum_{e} c(e)

    Parameters
    ----------
    a : str or sequence
        The string that is edited. Letters are Unicode code points, or the items of a list.
    b : str or sequence
        The string that it becomes.
    insert : float, default=1
        The cost of a new letter.
    delete : float, default=1
        The cost of a letter less.
    substitute : float, default=1
        The cost of another letter in the place of one. With 2, or infinity, letters are only put in
        and taken out, and the distance is :math:`|a| + |b| - 2 \, \text{LCS}(a, b)`.
    transposition : {"adjacent", "damerau"} or None, default=None
        Whether two neighbours may be swapped, for the cost of a substitution: never; where they are
        not edited again (optimal string alignment, which breaks the triangle inequality); or with
        other edits between them, too (Damerau and Levenshtein).
    score_cutoff : float or None, default=None
        What is larger is given as this plus one.

    Returns
    -------
    int or float
        An int if all costs are whole numbers.

    Notes
    -----
    Strings are compared as they are: nothing is put in lower case, stripped or normalised. Where
    letters can be written in several ways, apply `unicodedata.normalize` to both first. The
    distance to an empty string is the cost of all letters of the other. With equal costs, or a
    substitution that costs an insertion and a deletion, 64 rows of the dynamic programme are
    computed at once; with others, and with swaps of Damerau, :math:`O(|a| |b|)` steps are taken.
    It is the entry of `edit_distances` for these two; for many pairs that is far quicker.

    References
    ----------
    V. I. Levenshtein (1966). Binary codes capable of correcting deletions, insertions and
    reversals. Soviet Physics Doklady 10(8).

    H. Hyyrö (2003). A bit-vector algorithm for computing Levenshtein and Damerau edit distances.
    Nordic Journal of Computing 10(1).

    Examples
    --------
    >>> from panlearn.text import edit_distance
    >>> edit_distance("kitten", "sitting")
    3
    >>> edit_distance("kitten", "sitting", substitute=2)
    5
    >>> edit_distance("form", "from"), edit_distance("form", "from", transposition="adjacent")
    (2, 1)
    """
    options: dict[str, Any] = {"insert": insert, "delete": delete, "substitute": substitute}
    options |= {"transposition": transposition, "score_cutoff": score_cutoff}
    return edit_distances([a], [b], **options)[0, 0].item()


def edit_distances(
    A: Sequence[Letters],
    B: Sequence[Letters] | None = None,
    *,
    insert: float = 1,
    delete: float = 1,
    substitute: float = 1,
    transposition: Transposition | None = None,
    score_cutoff: float | None = None,
    dtype: Any = None,
) -> np.ndarray:
    r"""Give the edit distances of all pairs of two lists of strings.

    .. math::
        D_{ij} = d(a_i, b_j)

    Parameters
    ----------
    A : list of str or of sequences
        The strings that are edited, one a row.
    B : list of str or of sequences, default=None
        The strings that they become, one a column; those of A if not given.
    insert : float, default=1
        The cost of a new letter.
    delete : float, default=1
        The cost of a letter less.
    substitute : float, default=1
        The cost of another letter in the place of one.
    transposition : {"adjacent", "damerau"} or None, default=None
        Whether two neighbours may be swapped; see `edit_distance`.
    score_cutoff : float or None, default=None
        What is larger is given as this plus one.
    dtype : dtype, default=None
        Of the result: int32 if all costs are whole numbers, else float64. A smaller one, such as
        ``np.uint8``, saves memory.

    Returns
    -------
    ndarray of shape (len(A), len(B))

    Notes
    -----
    Each entry is what `edit_distance` gives. The columns are taken in blocks of up to 256, whose
    dynamic programmes run side by side in vector registers, and the blocks on all cores. A pair
    costs at most the :math:`O(|a| |b|)` cells of its programme.

    References
    ----------
    H. Hyyrö (2003). A bit-vector algorithm for computing Levenshtein and Damerau edit distances.
    Nordic Journal of Computing 10(1).

    Examples
    --------
    >>> from panlearn.text import edit_distances
    >>> edit_distances(["carr"], ["cat", "car", "cart", "cards"])
    array([[2, 1, 1, 2]], dtype=int32)
    """
    costs, swaps = _check_costs(insert, delete, substitute, transposition)
    letters, texts, patterns = read_strings(A, A if B is None else B)
    out, cutoff = _result(texts, patterns, costs, score_cutoff, dtype)
    run: Callable[..., None] = weighted.distances
    half = B is None and insert == delete and out.dtype == np.int32
    tasks: list[tuple[Any, ...]] = [(patterns, costs, swaps, letters, half)]
    if (kind := _bit_parallel_kind(insert, delete, substitute, swaps)) is not None:
        run, blocks = bits.distances, _blocks(patterns, letters)
        tasks = [(block, kind, float(insert)) for block in blocks]
    if out.dtype == np.int32:
        _on_threads(run, texts, len(patterns.letters), tasks, cutoff, out)
        return out
    step = max(1, _CHUNK // max(1, out.shape[1]))  # of other types, some rows in floats at a time
    for start in range(0, len(out), step):
        rows = Strings(texts.letters, texts.offsets[start : start + step + 1])
        part = np.empty(out[start : start + step].shape)
        _on_threads(run, rows, len(patterns.letters), tasks, cutoff, part)
        out[start : start + step] = part
    return out


def edit_operations(
    a: Letters,
    b: Letters,
    *,
    insert: float = 1,
    delete: float = 1,
    substitute: float = 1,
    transposition: Literal["adjacent"] | None = None,
) -> list[Edit]:
    r"""Give the cheapest edits that make one string another, in order.

    .. math::
        \arg\min_{\text{edits } a \to b} \ \sum_{e} c(e)

    Parameters
    ----------
    a : str or sequence
        The string that is edited.
    b : str or sequence
        The string that it becomes.
    insert : float, default=1
        The cost of a new letter.
    delete : float, default=1
        The cost of a letter less.
    substitute : float, default=1
        The cost of another letter in the place of one.
    transposition : {"adjacent"} or None, default=None
        Whether two neighbours may be swapped, for the cost of a substitution.

    Returns
    -------
    list of Edit
        Letters that stay are in it as ``"equal"``: it is an alignment of the two.

    Notes
    -----
    Of several cheapest paths it is the one that, read from the end, pairs letters where it can,
    then deletes, then inserts, then swaps. It keeps a byte for each of the :math:`|a| |b|` cells.
    Time and memory are :math:`O(|a| |b|)`.

    References
    ----------
    R. A. Wagner and M. J. Fischer (1974). The string-to-string correction problem. Journal of the
    ACM 21(1). doi:10.1145/321796.321811

    Examples
    --------
    >>> from panlearn.text import edit_operations
    >>> [edit.operation for edit in edit_operations("kind", "inked", transposition="adjacent")]
    ['delete', 'equal', 'equal', 'insert', 'insert', 'equal']
    """
    if transposition == "damerau":
        raise ValueError("edits of transposition='damerau' may overlap; 'adjacent' gives a path")
    costs, swaps = _check_costs(insert, delete, substitute, transposition)
    _, (source, _), (target, _) = read_strings([a], [b])
    shape = (len(source) + 1, len(target) + 1)
    require_memory(shape, "the table of edits", "cut the strings into parts", itemsize=1)
    moves = weighted.moves(source, target, costs, swaps)
    edits, i, j = [], len(source), len(target)
    while i or j:
        move = int(moves[i, j])
        back = 2 if move == weighted.TRANSPOSE else 1
        i -= back if move != weighted.INSERT else 0
        j -= back if move != weighted.DELETE else 0
        edits.append(Edit(_OPERATIONS[move], i, j))
    return edits[::-1]


def _bit_parallel_kind(insert: float, delete: float, substitute: float, swaps: int) -> int | None:
    """Which distance of unit costs it is, but for a factor; None if it is none."""
    if insert != delete or swaps == weighted.DAMERAU:
        return None
    if substitute == insert:
        return bits.SWAPS if swaps else bits.UNIT
    return bits.INDEL if substitute >= 2 * insert and not swaps else None


def _check_costs(
    insert: float, delete: float, substitute: float, transposition: Any
) -> tuple[np.ndarray, int]:
    for name, cost in (("insert", insert), ("delete", delete), ("substitute", substitute)):
        if not isinstance(cost, int | float | np.integer | np.floating) or not cost >= 0:
            raise ValueError(f"{name} must be a number that is not negative; got {cost!r}")
    if math.isinf(insert) or math.isinf(delete):
        raise ValueError("insert and delete must be finite: only a substitution may be forbidden")
    if transposition not in _SWAPS:
        raise ValueError(
            f"transposition must be None, 'adjacent' or 'damerau'; got {transposition!r}"
        )
    if transposition == "damerau" and 2 * substitute < insert + delete:
        raise ValueError(
            "with transposition='damerau' a swap must not be cheaper than half an insertion and a "
            "deletion: raise substitute"
        )
    costs = np.array([insert, delete, substitute], dtype=float)
    whole = (costs == np.round(costs)).all() and costs.max() < 2**31
    return costs.astype(np.int64) if whole else costs, _SWAPS[transposition]


def read_strings(A: Any, B: Any) -> tuple[int, Strings, Strings]:
    """How many letters there are, and the strings of both lists as numbers of them."""
    parts = []
    for name, items in (("A", A), ("B", B)):
        if isinstance(items, str | bytes) or not hasattr(items, "__iter__"):
            raise ValueError(f"{name} must be a list of strings; got a {type(items).__name__}")
        parts.append([_checked(item) for item in items])
    flat = [item for part in parts for item in part]
    if all(isinstance(item, str) for item in flat):
        content = "".join(flat).encode("utf-32-le", "surrogatepass")
        numbers: np.ndarray = np.frombuffer(content, dtype=np.uint32)
        n_letters = int(numbers.max(initial=0)) + 1
        if n_letters > _FEW_LETTERS:
            known, numbers = np.unique(numbers, return_inverse=True)
            n_letters = len(known)
    else:
        index: dict[Hashable, int] = {}
        every = (index.setdefault(letter, len(index)) for item in flat for letter in item)
        numbers = np.fromiter(every, np.int64)
        n_letters = len(index)
    offsets = np.fromiter(itertools.accumulate(map(len, flat), initial=0), np.int64)
    cut, n = offsets[len(parts[0])], len(parts[0])
    first = Strings(numbers[:cut].astype(np.int64), offsets[: n + 1])
    return n_letters, first, Strings(numbers[cut:].astype(np.int64), offsets[n:] - cut)


def _checked(item: Any) -> Any:
    if isinstance(item, str):
        return item
    if isinstance(item, bytes) or not isinstance(item, Sequence | np.ndarray):
        raise ValueError(
            f"a string is a str or a sequence of letters; got {item!r:.40} of type "
            f"{type(item).__name__}"
        )
    return item.tolist() if isinstance(item, np.ndarray) else item


def _result(
    texts: Strings, patterns: Strings, costs: np.ndarray, score_cutoff: float | None, dtype: Any
) -> tuple[np.ndarray, float]:
    """An empty matrix that holds the largest distance there may be, and where to cut."""
    longest = [np.diff(strings.offsets).max(initial=0) for strings in (texts, patterns)]
    largest = float(longest[0] * costs[1] + longest[1] * costs[0])
    cutoff = np.inf if score_cutoff is None else score_cutoff
    if not isinstance(cutoff, int | float | np.number) or not cutoff >= 0:
        raise ValueError(f"score_cutoff must be a number from 0 on; got {score_cutoff!r}")
    cutoff = float(cutoff)
    most = min(largest, cutoff + 1)
    finite = costs[np.isfinite(costs)]
    whole = (finite == np.round(finite)).all()
    if dtype is None:
        exact = whole and (math.isinf(cutoff) or cutoff == round(cutoff))
        integers = np.int32 if most < 2**31 else np.int64
        dtype = integers if exact else np.float64
    kind = np.dtype(dtype)
    if kind.kind not in "iuf" or (kind.kind != "f" and not whole):
        raise ValueError(f"distances with these costs are not of dtype {kind}; take float64")
    if kind.kind != "f" and most > np.iinfo(kind).max:
        raise ValueError(f"distances may be up to {largest:.0f}, too large for dtype {kind}")
    shape = (len(texts.offsets) - 1, len(patterns.offsets) - 1)
    require_memory(shape, "the matrix of distances", "take fewer strings", kind.itemsize)
    return np.empty(shape, dtype=kind), cutoff


def _blocks(patterns: Strings, n_letters: int) -> Iterator[bits.Block]:
    """The patterns in blocks, the longest first; long ones with many letters are fewer a block."""
    lengths = np.diff(patterns.offsets)
    order, start = np.argsort(-lengths, kind="stable"), 0
    while start < len(order):
        words = max(1, -(-int(lengths[order[start]]) // 64))
        # no block has more letters than there are, or than its patterns have places
        width = int(np.clip(_BLOCK_WORDS // (words * min(n_letters, 256)), 1, _WIDEST))
        yield bits.make_block(patterns, order[start : start + width], n_letters)
        start += width


def _on_threads(
    run: Callable[..., None],
    texts: Strings,
    n_letters: int,
    tasks: list[tuple[Any, ...]],
    cutoff: float,
    out: np.ndarray,
) -> None:
    n_texts, count = len(texts.offsets) - 1, n_threads()
    if count == 1 or (texts.offsets[-1] - texts.offsets[0]) * n_letters < _SMALL:
        for task in tasks:
            run(texts, 0, n_texts, *task, cutoff, out)
        return
    # more parts than threads, since of half a matrix the last rows are the longest
    step = max(1, -(-n_texts // (8 * count))) if len(tasks) < 4 * count else n_texts
    parts = [
        (start, min(start + step, n_texts), *task)
        for task in tasks
        for start in range(0, n_texts, step)
    ]
    with threads() as ordered:
        list(ordered(lambda part: run(texts, *part, cutoff, out), parts))
