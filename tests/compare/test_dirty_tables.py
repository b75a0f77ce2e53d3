"""Tables as people write them: each file is made from a truth, and read back to it."""

import gzip
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import panlearn
from panlearn.bayes import CategoricalNB
from panlearn.compare import conform, prepare, read_table
from panlearn.compare.cells import read_cells
from panlearn.compare.preparation import preprocessor
from panlearn.compare.table import as_table, kind_of
from panlearn.core.errors import DataError
from panlearn.linear import Ridge


def said(table):
    return "\n".join(table.notes)


def read(texts, **options):
    return read_cells(pd.Series(texts, dtype=object), **options)


@pytest.mark.parametrize(
    ("write", "digits"),
    [
        ("{:.2f}".format, 2),
        ("{:,.2f}".format, 2),
        ("${:,.2f}".format, 2),
        (lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")) + " €", 2),
        (lambda v: f"{v:,.1f}".replace(",", " "), 1),
        (lambda v: f"{v:,.1f}".replace(",", "'"), 1),
        (lambda v: f"{v:.1f}".replace(".", ","), 1),
        (lambda v: f"{100 * v:.0f}%", 2),
        (lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}", 2),
        ("{:.3e}".format, -2),
    ],
)
def test_numbers_come_back(rng, write, digits):
    truth = np.round(rng.normal(scale=5e4, size=200), max(digits, 0))
    found = read([write(v) for v in truth])
    assert found.style.startswith("number")
    np.testing.assert_allclose(found.values, truth, atol=0.5 * 10.0**-digits, rtol=1e-3)


@pytest.mark.parametrize(
    "form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y-%m-%d", "%b %d, %Y"]
)
def test_dates_come_back(rng, form):
    truth = pd.to_datetime("1995-01-01") + pd.to_timedelta(rng.integers(0, 9000, 150), unit="D")
    found = read(list(truth.strftime(form)))
    assert found.is_date
    np.testing.assert_array_equal(found.values, (truth - pd.Timestamp(0)).days)
    assert "ambiguous" not in " ".join(found.notes)


def test_times_of_day_are_parts_of_a_day():
    found = read(["13/02/2020 06:00", "14/02/2020 06:00 PM", "15/02/2020 12:00:00 AM"])
    np.testing.assert_allclose(found.values % 1, [0.25, 0.75, 0.0], atol=1e-9)


def test_ambiguous_dates_are_said_and_a_style_settles_them():
    texts = ["03/04/2020", "05/06/2021", "01/02/2019"]
    found = read(texts)
    assert any("ambiguous" in note and "month/day/year" in note for note in found.notes)
    assert found.values[0] == (pd.Timestamp("2020-04-03") - pd.Timestamp(0)).days
    other = read(texts, style="date %m/%d/%Y")
    assert other.values[0] == (pd.Timestamp("2020-03-04") - pd.Timestamp(0)).days
    same = read(["03/03/2020", "04/04/2021"])  # the same in both orders
    assert not any("ambiguous" in note for note in same.notes)


def test_dates_at_the_end_of_time_are_missing_and_told():
    days = [f"2020-01-{d:02d}" for d in range(1, 29)]
    found = read([*days, "9999-12-31", "0001-01-01"] * 1 + ["9999-12-31"] * 10)
    assert found.values.isna().sum() == 12
    assert any(
        "12 cells with dates at the end of time" in n and "'9999-12-31'" in n for n in found.notes
    )
    stamps = pd.Series(pd.to_datetime([*days, "9999-12-31"]).astype("datetime64[s]"))
    table = as_table(pd.DataFrame({"x": range(29), "when": stamps}), [0.5, 1.5] * 14 + [0.1])
    assert table.X["when"].isna().sum() == 1
    assert "end of time" in said(table)


def test_a_few_other_cells_are_missing_and_named(rng):
    truth = rng.normal(size=1000)
    texts = [f"{v:.6f}" for v in truth]
    for place in (5, 17, 400):
        texts[place] = "?"
    texts[30] = "broken"
    table = as_table(pd.DataFrame({"a": texts}), np.arange(1000.0))
    assert table.X["a"].dtype == float
    assert set(np.flatnonzero(table.X["a"].isna())) == {5, 17, 30, 400}
    assert "'a': 4 cells with no number, taken as missing: '?', 'broken'" in said(table)
    keep = table.X["a"].notna().to_numpy()
    np.testing.assert_allclose(table.X["a"][keep], truth[keep], atol=1e-6)


def test_one_question_mark_costs_nothing(rng, tmp_path):
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=300) > 0
    frame = pd.DataFrame(X, columns=["a", "b"]).astype(object).assign(y=y)
    frame.loc[7, "a"] = "?"
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = prepare(read_table(tmp_path / "t.csv"), "y")
    model = make_pipeline(preprocessor(table.X, LogisticRegression()), LogisticRegression())
    assert cross_val_score(model, table.X, table.y, scoring="roc_auc").mean() > 0.95


@pytest.mark.parametrize(
    "texts",
    [
        ["low", "high", "middle"] * 10,
        ["12a", "7b", "3c"] * 10,
        ["1", "2", "x"] * 10,  # two in three
        ["1.2.3", "10.0.0.1", "8.8.8.8"] * 10,
        ["12,34", "1,23,456"] * 3 + ["1,234,5"] * 10,
        [None, None],
        ["?", "-", ""] * 5,
        [True, "1"] * 5,
    ],
)
def test_what_is_neither_stays(texts):
    assert read(texts) is None


def test_mixed_types_and_gaps():
    found = read([1, "2", 3.5, None, "n/a", "$4"])
    np.testing.assert_array_equal(found.values, [1, 2, 3.5, np.nan, np.nan, 4])


def test_a_dirty_target(rng):
    truth = np.round(rng.normal(2000, 900, size=80), 2)
    frame = pd.DataFrame({"x": truth, "price": [f"${v:,.2f}" for v in truth]})
    frame.loc[3, "price"] = "call us"
    table = prepare(frame, "price")
    assert table.task == "regression"
    np.testing.assert_allclose(table.y, np.delete(truth, 3))
    assert "'call us'" in said(table)
    assert "dropped 1 row whose target is missing" in said(table)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y"])
def test_a_date_as_target_is_refused(form):
    days = pd.date_range("2020-01-01", periods=30).strftime(form)
    with pytest.raises(DataError, match="holds dates"):
        prepare(pd.DataFrame({"x": range(60), "day": [*days, *days]}), "day")


class TestText:
    @pytest.fixture
    def letters(self, rng):
        good, bad = "lovely great happy fine".split(), "awful broken late rude".split()
        y = rng.integers(2, size=120)
        filler = "the order was for my house and some other things".split()
        texts = [
            " ".join(rng.permutation([*rng.choice(filler, 6), rng.choice([bad, good][k])]))
            for k in y
        ]
        frame = pd.DataFrame({"x": rng.normal(size=120), "review": texts, "y": y})
        return frame.assign(id=[f"u{i:04d}" for i in range(120)])

    def test_sentences_are_learned_from_and_identifiers_are_not(self, letters):
        letters.loc[4, "review"] = None
        table = prepare(letters, "y")
        assert kind_of(table.X["review"]) == "text"
        assert "tf-idf" in said(table)
        assert "dropped 'id'" in said(table)
        model = make_pipeline(preprocessor(table.X, LogisticRegression()), LogisticRegression(C=10))
        assert cross_val_score(model, table.X, table.y).mean() > 0.85
        discrete = make_pipeline(preprocessor(table.X, CategoricalNB()), CategoricalNB())
        assert discrete.fit(table.X, table.y).predict(table.X).shape == (120,)

    def test_a_saved_model_takes_new_sentences(self, letters, tmp_path):
        table = prepare(letters, "y")
        model = make_pipeline(preprocessor(table.X, Ridge()), Ridge()).fit(table.X, table.y)
        panlearn.save(model, tmp_path / "m.panlearn")
        loaded = panlearn.load(tmp_path / "m.panlearn")
        new = letters.head(3).assign(review=["a great day", None, "never seen words"])
        rows, _notes = conform(new, loaded)
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
        assert rows["review"].tolist() == ["a great day", "", "never seen words"]


class TestNewRows:
    @pytest.fixture
    def model(self, rng):
        truth = rng.normal(size=60) * 1000
        days = pd.date_range("2020-01-01", periods=60).strftime("%m/%d/%Y")
        frame = pd.DataFrame({"cost": [f"${v:,.1f}" for v in truth], "day": days, "y": truth})
        table = prepare(frame, "y")
        assert table.styles == {"cost": "number .", "day": "date %m/%d/%Y"}
        made = make_pipeline(preprocessor(table.X, Ridge()), Ridge()).fit(table.X, table.y)
        made.column_styles_ = table.styles
        return made

    def test_are_read_as_the_model_was_fitted(self, model, tmp_path):
        panlearn.save(model, tmp_path / "m.panlearn")
        new = pd.DataFrame({"cost": ["$1,234", "?"], "day": ["03/04/2020", "03/05/2020"]})
        rows, _ = conform(new, panlearn.load(tmp_path / "m.panlearn"))
        np.testing.assert_array_equal(rows["cost"], [1234, np.nan])
        assert rows["day"][0] == (pd.Timestamp("2020-03-04") - pd.Timestamp(0)).days

    def test_the_right_cell_is_blamed(self, model):
        new = pd.DataFrame({"cost": ["$1", "$2", "many"], "day": ["03/04/2020"] * 3})
        with pytest.raises(DataError, match=r"'cost' .* row 3 has 'many', no number"):
            conform(new, model)
        with pytest.raises(DataError, match=r"'day' .* row 1 has '2020-13-99', no date"):
            conform(new.assign(cost="$1", day="2020-13-99"), model)


class TestFiles:
    FRAME = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "é"]})

    def test_csv_and_lines_with_and_without_gzip(self, tmp_path):
        csv = self.FRAME.to_csv(index=False).encode()
        lines = "".join(json.dumps(r) + "\n" for r in self.FRAME.to_dict("records")).encode()
        for name, data in (("t.csv", csv), ("t.jsonl", lines)):
            for end, write in (("", bytes), (".gz", gzip.compress)):
                (tmp_path / (name + end)).write_bytes(write(data))
                read = read_table(tmp_path / (name + end))
                assert read["a"].tolist() == [1.5, 2.5]
                assert read["b"].tolist() == ["x", "é"]

    @pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
    def test_standard_input(self, kind, monkeypatch, tmp_path):
        if kind == "parquet":
            self.FRAME.to_parquet(tmp_path / "t")
            data = (tmp_path / "t").read_bytes()
        elif kind == "jsonl":
            data = self.FRAME.to_json(orient="records", lines=True).encode()
        else:
            data = self.FRAME.to_csv(index=False).encode()
            data = gzip.compress(data, mtime=0) if kind.endswith("gz") else data
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read_table("-")["a"].tolist() == [1.5, 2.5]

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "standard input is empty"),
            (gzip.compress(b"", mtime=0), "standard input is empty"),
            (
                gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9],
                "standard input is not a readable gzip",
            ),
            (None, "standard input is closed"),
        ],
    )
    def test_standard_input_without_a_table(self, data, words, monkeypatch):
        given = None if data is None else io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", given)
        with pytest.raises(DataError, match=words):
            read_table("-")

    @pytest.mark.parametrize(
        ("name", "data", "words"),
        [
            ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "names 2 columns and the first row has 3"),
            ("t.csv", b"", "t.csv is empty"),
            ("t.csv.gz", b"a,b\n1,2\n", "gzip"),
            ("t.csv.gz", gzip.compress(b"", mtime=0), "t.csv.gz is empty"),
            ("t.jsonl", b"a,b\n1,2\n", "one JSON object a line"),
            ("t.jsonl", b"[1]\n", "one JSON object a line"),
            ("t.xlsx", b"PK", "neither CSV"),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path, name, data, words):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=words):
            read_table(tmp_path / name)

    def test_a_separator_too_many_at_the_end(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b\n1,2,\n3,4,\n")
        frame = read_table(tmp_path / "t.csv")
        assert frame["a"].tolist() == [1, 3]
        assert frame["b"].tolist() == [2, 4]
        assert any("empty field" in note for note in frame.attrs["notes"])
