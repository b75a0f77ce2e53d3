"""Files of word vectors: text and binary, with and without a header, plain and compressed."""

import gzip
import tracemalloc

import numpy as np
import pytest

from panlearn.text import GloVe, Word2Vec

FORMS = [{}, {"binary": True}, {"write_header": False}]
WORDS = ["the", "naïve", "日本", "x\u00a0y", "\x1c", "1", "..."]


def make(rng, words=WORDS, size=5):
    model = Word2Vec(size)
    model.words_ = np.array(words, dtype=object)
    model.vectors_ = rng.normal(size=(len(words), size)).astype(np.float32)
    return model


def reader(form):
    return {"binary": form.get("binary", False), "no_header": not form.get("write_header", True)}


@pytest.mark.parametrize("form", FORMS, ids=["text", "binary", "headerless"])
@pytest.mark.parametrize("name", ["vectors", "vectors.gz"])
def test_every_bit_comes_back(form, name, rng, tmp_path):
    model, path = make(rng), tmp_path / name
    # floats whose bytes are blanks and line breaks, and the extremes
    model.vectors_.view(np.uint32)[0] = [0x20202020, 0x0A0A0A0A, 0x00000001, 0x7F7FFFFF, 0x80000000]
    model.save_word2vec_format(path, **form)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    again = GloVe.load_word2vec_format(path, **reader(form))
    assert again.words_.tolist() == WORDS
    assert again.vectors_.dtype == np.float32
    np.testing.assert_array_equal(again.vectors_.view(np.uint32), model.vectors_.view(np.uint32))
    assert again.vector_size == 5
    few = Word2Vec.load_word2vec_format(path, **reader(form), limit=3)
    assert few.words_.tolist() == WORDS[:3]
    np.testing.assert_array_equal(few.vectors_, again.vectors_[:3])
    more = Word2Vec.load_word2vec_format(path, **reader(form), limit=100)
    assert len(more.words_) == len(WORDS)


def test_bytes_of_the_formats(tmp_path):
    model = make(np.random.default_rng(0), ["a", "bc"], 2)
    model.vectors_[:] = [[1, -0.5], [0.1, 3e20]]
    model.save_word2vec_format(tmp_path / "text")
    assert (tmp_path / "text").read_text() == "2 2\na 1.0 -0.5\nbc 0.1 3e+20\n"
    model.save_word2vec_format(tmp_path / "glove", write_header=False)
    assert (tmp_path / "glove").read_text() == "a 1.0 -0.5\nbc 0.1 3e+20\n"
    model.save_word2vec_format(tmp_path / "binary", binary=True)
    numbers = model.vectors_.astype("<f4")
    expected = b"2 2\na " + numbers[0].tobytes() + b"bc " + numbers[1].tobytes()
    assert (tmp_path / "binary").read_bytes() == expected
    # the program of Mikolov et al. ends each vector with a line break
    broken = b"2 2\na " + numbers[0].tobytes() + b"\nbc " + numbers[1].tobytes() + b"\n"
    (tmp_path / "theirs").write_bytes(broken)
    again = Word2Vec.load_word2vec_format(tmp_path / "theirs", binary=True)
    assert again.words_.tolist() == ["a", "bc"]
    np.testing.assert_array_equal(again.vectors_, model.vectors_)


def test_many_vectors_are_read_in_chunks(rng, tmp_path):
    model = make(rng, [f"word{i}" for i in range(3000)], 150)  # 1.8 MB
    model.save_word2vec_format(tmp_path / "vectors.bin", binary=True)
    again = Word2Vec.load_word2vec_format(tmp_path / "vectors.bin", binary=True)
    assert again.words_.tolist() == model.words_.tolist()
    np.testing.assert_array_equal(again.vectors_, model.vectors_)


@pytest.mark.parametrize("form", FORMS, ids=["text", "binary", "headerless"])
def test_a_file_that_is_cut_off_anywhere_is_refused(form, rng, tmp_path):
    path = tmp_path / "vectors"
    make(rng, ["a", "bc", "d"], 3).save_word2vec_format(path, **form)
    content = path.read_bytes()
    for end in range(len(content) - 1):
        path.write_bytes(content[:end])
        try:
            found = Word2Vec.load_word2vec_format(path, **reader(form))
        except ValueError as error:
            assert "vectors holds no word vectors as " in str(error)  # noqa: PT017
        else:  # text does not tell a number from its first digits, nor how many words there are
            assert not form.get("binary")
            assert len(found.words_) == 3 or not form.get("write_header", True)


@pytest.mark.parametrize(
    ("content", "binary", "says"),
    [
        (b"1000000000000 300\nthe 1 2 3\n", False, "line 2: a line of 3 numbers"),
        (b"1000000000000 2\nthe 1 2\n", False, "1 words, and the first line says 1000000000000"),
        (b"1000000000000 2\nthe " + bytes(8), True, "the first line says 1000000000000 words"),
        (b"2 1000000000000\nthe " + bytes(8), True, "the length of a vector"),
        (b"2 1000000\nthe " + bytes(8), True, "the file ends"),
        (b"2 -1\nthe 1\n", False, "the length of a vector"),
        (b"0 2\n", False, "the number of words"),
        (b"9" * 10_000 + b" 2\n", True, "line|digits|number"),
        (b"1 1\n" + bytes(200_000), True, "no blank in 65536 bytes"),
        (b"1 1\na " + bytes(4) + b"b ", True, "more than the 1 words"),
        (b"2 1\na 1\na 2\n", False, "1 different words"),
        (b"1 1\n\xff\xfe 1\n", False, "decode byte"),
        (b"2 2\na 1 x\n", False, "could not convert"),
    ],
)
def test_hostile_files_are_refused_before_memory_is_taken(content, binary, says, tmp_path):
    for path in (tmp_path / "vectors", tmp_path / "vectors.gz"):
        path.write_bytes(gzip.compress(content) if path.suffix else content)
        tracemalloc.start()
        with pytest.raises(ValueError, match=says):
            Word2Vec.load_word2vec_format(path, binary=binary)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**26
    path.write_bytes(gzip.compress(b"1 1\na 1\n")[:-9])
    with pytest.raises(ValueError, match="cut off"):
        Word2Vec.load_word2vec_format(path)


def test_what_cannot_be_is_refused(rng, tmp_path):
    model = make(rng)
    with pytest.raises(ValueError, match="needs its header"):
        model.save_word2vec_format(tmp_path / "v", binary=True, write_header=False)
    model.save_word2vec_format(tmp_path / "v")
    with pytest.raises(ValueError, match="has a header"):
        Word2Vec.load_word2vec_format(tmp_path / "v", binary=True, no_header=True)
    with pytest.raises(ValueError, match="limit must be 1"):
        Word2Vec.load_word2vec_format(tmp_path / "v", limit=0)
