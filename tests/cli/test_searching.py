"""The index and search commands: the right file first, and an index that survives."""

import importlib
import inspect
import json
import os
import signal
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest

import panlearn
from panlearn.cli import passages
from panlearn.cli.corpus import without_tags
from panlearn.cli.passages import find, open_index, update_index
from panlearn.linear import Ridge

ROOT = Path(__file__).parents[2]
MODULES = "argparse csv heapq json pickle random re shutil subprocess tempfile threading zipfile"

QUERIES = {
    "how to save a model without pickle": "saving.rst",
    "stream batches larger than memory": "data.rst",
    "random forest out of bag score": "random_forest.py",
    "Kalman filter with missing observations": "kalman_filter.py",
    "why are estimators dataclasses": "0001-dataclass-estimators.rst",
    "coordinate descent for the lasso": "_coordinate_descent.py",
    "restricted Boltzmann machine contrastive divergence": "bernoulli_rbm.py",
    "recommend items to users from ratings": "matrix_factorization.py",
    "Hamiltonian Monte Carlo leapfrog": "_hamiltonian.py",
    "stationary distribution of a Markov chain": "markov_chain.py",
    "how does PageRank treat dangling nodes": "pagerank.py",
    "one home and one contract for every method": "README.md",
    "context manager __enter__ __exit__": "context-managers.txt",
    "catch an exception with try except finally": "try.txt",
    "operator precedence table": "operator-summary.txt",
    "parse command line arguments with subparsers": "argparse.txt",
    "run a child process and capture its output": "subprocess.txt",
    "format specification mini language alignment": "formatstrings.txt",
    "merge two sorted iterables with a heap": "heapq.txt",
    "temporary directory that deletes itself": "tempfile.txt",
}


def write_library(folder):
    """The documentation that comes with Python: its topics, and docstrings of some modules."""
    for name, text in topics.items():
        (folder / f"{name}.txt").write_text(text)
    for name in MODULES.split():
        module = importlib.import_module(name)
        parts = [inspect.getdoc(module) or ""]
        for part in getattr(module, "__all__", []):
            parts.append(f"{part}\n{inspect.getdoc(getattr(module, part)) or ''}")
        (folder / f"{name}.txt").write_text("\n\n".join(parts))


@pytest.fixture(scope="module")
def library_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    write_library(folder)
    pages = ["index.rst", "curriculum.rst", "status.rst", "guide", "decisions"]  # not what is built
    ours = [ROOT / "src", ROOT / "README.md", *(ROOT / "docs" / page for page in pages)]
    paths = [*map(str, ours), str(folder)]
    output = tmp_path_factory.mktemp("index") / "all.index"
    update_index(paths, output)
    return open_index(output)


@pytest.mark.parametrize("query", QUERIES)
def test_the_right_file_is_among_the_first_three(query, library_index):
    found = [Path(p.file).name for p in find(library_index, query, k=3)]
    assert QUERIES[query] in found


@pytest.fixture
def folder(tmp_path):
    """A small tree of files, none of them new."""
    here = tmp_path / "tree"
    (here / "deep").mkdir(parents=True)
    (here / "cats.md").write_text("# Cats\n\nCats purr.\n" + "filler\n" * 60 + "Siamese cats.\n")
    (here / "dogs.txt").write_text("Dogs bark at the moon.\n")
    (here / "deep" / "page.html").write_text(
        "<html><style>p {x}</style>\n<p>Birds &amp; bees\n<b>sing</b> hidden</p></html>"
    )
    _age(here)
    return here


def _age(folder):
    """Let the files be an hour old: what is just written is read again in any case."""
    hour_ago = time.time() - 3600
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (hour_ago, hour_ago))


def test_passages_have_file_line_and_marks(run, folder, tmp_path):
    output = tmp_path / "i.index"
    result = run("index", folder, "--output", output)
    assert result.exit_code == 0, result.stderr
    assert "5 passages of 3 files (3 new, 0 changed, 0 gone)" in result.stdout
    shown = run("search", output, "siamese cat")
    assert f"{folder / 'cats.md'}:64" in shown.stdout
    assert ">    64  Siamese cats." in shown.stdout
    found = json.loads(run("search", output, "siamese cat", "--json").stdout)
    assert [Path(p["file"]).name for p in found] == ["cats.md"]
    best = found[0]
    assert best["first"] <= 64 <= best["last"]
    assert [best["text"][a:b] for a, b in best["matches"]] == ["Siamese", "cats"]
    more = json.loads(run("search", output, "cats", "--json", "--per-file", 9).stdout)
    assert len(more) == 3  # the name of the file counts in all its passages
    page = json.loads(run("search", output, "bees sing", "--json").stdout)[0]
    assert (Path(page["file"]).name, page["line"]) == ("page.html", 2)
    assert "<" not in page["text"]
    assert "{x}" not in page["text"]
    nothing = run("search", output, "zebra")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "nothing in" in nothing.stderr
    nothing = run("search", output, "zebra", "--json")
    assert (nothing.exit_code, json.loads(nothing.stdout)) == (1, [])


def test_only_what_changed_is_read_again(run, folder, tmp_path, monkeypatch):
    output, seen, read = tmp_path / "i.index", [], passages.read_text
    monkeypatch.setattr(passages, "read_text", lambda path: seen.append(path) or read(path))
    update_index([str(folder)], output)
    assert len(seen) == 3
    seen.clear()
    written = output.stat().st_mtime_ns
    again = update_index([str(folder)], output)
    assert output.stat().st_mtime_ns == written
    assert (again.files, again.passages) == (3, 5)
    assert [again.new, again.changed, again.gone, again.left_out] == [[], [], [], []]
    assert not seen
    (folder / "dogs.txt").write_text("Dogs and wolves.\n")
    (folder / "deep" / "page.html").unlink()
    (folder / "new.txt").write_text("Fish swim.\n")
    update = update_index([str(folder)], output)
    assert sorted(map(os.path.basename, seen)) == ["dogs.txt", "new.txt"]
    assert [*map(os.path.basename, update.new + update.changed + update.gone)] == [
        *("new.txt", "dogs.txt", "page.html")
    ]
    fresh = tmp_path / "fresh.index"
    update_index([str(folder)], fresh)
    one, other = open_index(output).postings_, open_index(fresh).postings_
    assert one.words == other.words
    assert one.ids.tolist() == other.ids.tolist()
    np.testing.assert_array_equal(one.counts.toarray(), other.counts.toarray())


def test_what_was_written_a_moment_ago_is_read_again(folder, tmp_path):
    """Two changes of one size within the grain of the clock leave the same stamp."""
    output, path = tmp_path / "i.index", folder / "dogs.txt"
    path.write_text("one")
    stamp = path.stat()
    update_index([str(folder)], output)
    path.write_text("two")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert update_index([str(folder)], output).changed == [str(path)]


def test_other_passages_make_another_index(folder, tmp_path):
    output = tmp_path / "i.index"
    update_index([str(folder)], output)
    assert len(update_index([str(folder)], output, lines=10, overlap=2).new) == 3
    spans = [i[1:] for i in open_index(output).ids_.tolist() if i[0].endswith("cats.md")]
    assert spans == [(1 + 8 * i, min(10 + 8 * i, 65)) for i in range(8)]


def test_odd_files(folder, tmp_path):
    (folder / ".hidden").write_text("secret")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    (folder / "binary").write_bytes(b"secret\0\1\2")
    (folder / "latin.txt").write_bytes("Größe secretlatin".encode("latin-1"))
    (folder / "wide.txt").write_text("secretwide", encoding="utf-16")
    (folder / "noise").write_bytes(bytes(range(1, 32)) * 20 + b"\xff\xfe secret")
    (folder / "empty").write_text("")
    (folder / "windows.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo secretwindows\r\n")
    (folder / "loop").symlink_to(folder)
    (folder / "nowhere").symlink_to(folder / "gone")
    (folder / "again.txt").symlink_to(folder / "dogs.txt")
    os.mkfifo(folder / "pipe")
    output = folder / "own.index"  # the index is not part of itself
    for _ in range(2):
        update = update_index([str(folder), str(folder / "dogs.txt")], output)
    assert sorted(Path(note.split(": ")[0]).name for note in update.left_out) == ["binary", "noise"]
    index = open_index(output)
    assert not find(index, "secret")
    assert find(index, "größe secretlatin")[0].text == "Größe secretlatin"
    assert find(index, "secretwide")[0].line == 1
    assert find(index, "secretwindows")[0].line == 2
    dogs = [f for f in index.files_ if f.endswith(("dogs.txt", "again.txt"))]
    assert len(dogs) == 1
    assert find(index, "")[:1] == []


def test_what_is_left_out_is_counted(run, folder, tmp_path):
    for i in range(7):
        (folder / f"{i}.bin").write_bytes(b"\0\1")
    result = run("index", folder, "--output", tmp_path / "i.index")
    assert result.stderr == f"· left out 7 files: no text, such as {folder / '0.bin'}\n"
    update = json.loads(run("index", folder, "--output", tmp_path / "i.index", "--json").stdout)
    assert len(update["left_out"]) == 7


def test_errors_are_one_line(run, folder, tmp_path):
    model = tmp_path / "model"
    panlearn.save(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), model)
    (tmp_path / "void").mkdir()
    output = tmp_path / "i.index"
    for arguments, says in [
        (("index", tmp_path / "gone", "--output", output), "no file or folder"),
        (("index", tmp_path / "void", "--output", output), "no text in"),
        (("index", folder, "--output", model), "not an index"),
        (("index", folder, "--output", output, "--lines", 5, "--overlap", 5), "overlap"),
        (("search", model, "x"), "not an index"),
        (("search", folder / "dogs.txt", "x"), "not a panlearn model"),
        (("search", output, "x"), "does not exist"),
    ]:
        result = run(*arguments)
        assert result.exit_code == 2
        assert says in result.stderr
        assert result.stderr.count("\n") == 1
    assert panlearn.load(model).coef_.shape == (1,)


def test_code(run, folder, tmp_path):
    output = tmp_path / "i.index"
    code = run("index", folder, "--output", output, "--code").stdout
    asked = run("index", folder, "--output", output)
    assert asked.exit_code == 0
    code += run("search", output, "bark moon", "--code").stdout
    out = StringIO()
    with redirect_stdout(out):
        exec(code, {})
    assert "Dogs bark at the moon." in out.getvalue()


def _child(job):
    """Run a job in a process of its own, and give its number."""
    pid = os.fork()
    if not pid:
        try:
            job()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    return pid


def test_what_a_terminal_would_obey_is_not_shown(run, folder, tmp_path):
    long = "x = 1; " * 5_000 + "herring; " + "y = 2; " * 5_000
    (folder / "odd\x1b[2J.js").write_text("\x1b]0;title\x07 fish \u202e \x9b31m\n" + long)
    output = tmp_path / "i.index"
    assert run("index", folder, "--output", output).exit_code == 0
    shown = run("search", output, "fish herring").stdout
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert "herring" in shown
    assert len(shown) < 1000  # of a line of 70,000 letters what stands around the word
    found = json.loads(run("search", output, "herring", "--json").stdout)
    assert found[0]["text"].startswith("\x1b]0;")


def test_a_name_that_is_no_text_is_json_all_the_same(run, folder, tmp_path):
    name = os.fsdecode(b"odd\xff.txt")
    (folder / name).write_text("herring")
    assert run("index", folder, "--output", tmp_path / "i.index").exit_code == 0
    result = run("search", tmp_path / "i.index", "herring", "--json")
    result.stdout_bytes.decode()  # no byte that is not UTF-8
    assert json.loads(result.stdout)[0]["file"] == str(folder / name)


def test_html_keeps_its_lines_and_is_read_once():
    assert without_tags("<p>a&#10;b&NewLine;c&#13;\n<!-- \n -->d") == " a b c \n\nd"
    assert without_tags("a<script>b\nc") == "a\n"
    began = time.perf_counter()
    for never_closed in ("<a ", "<!--", "<script>"):
        without_tags(never_closed * 100_000)
    assert time.perf_counter() - began < 30  # over a minute, if each looked for its end


def test_a_folder_that_cannot_be_read_is_left_out_and_named(run, folder, tmp_path, monkeypatch):
    scandir = os.scandir

    def closed(path):
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    result = run("index", folder, "--output", tmp_path / "i.index")
    assert f"left out {folder / 'deep'}: Permission denied" in result.stderr
    assert "of 2 files" in result.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("moment", ["fsync", "replace", "random"])
def test_killed_at_any_moment_the_old_index_or_the_new_one_is_there(moment, folder, tmp_path, rng):
    output = tmp_path / "i.index"
    update_index([str(folder)], output)
    old = set(open_index(output).files_)
    for turn in range(1 if moment != "random" else 8):
        (folder / f"more{turn}.txt").write_text("whale " * 2000)
        new = old | {str(folder / f"more{turn}.txt")}

        def job():
            if moment != "random":  # at the worst places: written, not yet flushed or renamed
                setattr(os, moment, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            update_index([str(folder)], output)

        child = _child(job)
        if moment == "random":
            time.sleep(rng.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        there = set(open_index(output).files_)
        assert there in (old, new)
        if moment != "random":
            assert there == old
        update_index([str(folder)], output)  # and the next run goes on from it
        old = set(open_index(output).files_)
        assert old == new
