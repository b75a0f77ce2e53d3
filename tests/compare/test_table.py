import numpy as np
import pandas as pd
import pytest

from panlearn.bayes import CategoricalNB, MultinomialNB
from panlearn.compare.files import built_in, read_table
from panlearn.compare.preparation import conform, preprocessor
from panlearn.compare.table import as_table, prepare
from panlearn.core.errors import DataError
from panlearn.linear import Ridge


def said(table):
    return "\n".join(table.notes)


def write(tmp_path, text, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


class TestReading:
    def test_semicolons_and_decimal_commas(self, tmp_path):
        frame = read_table(write(tmp_path, "a;b\n1,5;x\n2,5;y\n"))
        assert frame["a"].tolist() == [1.5, 2.5]
        assert len(frame.attrs["notes"]) == 2

    def test_semicolons_with_commas_in_the_text(self, tmp_path):
        frame = read_table(write(tmp_path, 'a;b\n1.5;"x, y"\n2.5;z\n'))
        assert frame["a"].tolist() == [1.5, 2.5]
        assert frame["b"].tolist() == ["x, y", "z"]

    def test_byte_order_mark_and_unicode(self, tmp_path):
        frame = read_table(write(tmp_path, "größe,名\n1,é\n", encoding="utf-8-sig"))
        assert list(frame.columns) == ["größe", "名"]

    def test_windows_encoding_is_read_and_said(self, tmp_path):
        frame = read_table(write(tmp_path, "größe,b\n1,é\n", encoding="cp1252"))
        assert list(frame.columns) == ["größe", "b"]
        assert "Windows-1252" in frame.attrs["notes"][0]

    def test_a_table_of_excel_in_utf_16(self, tmp_path):
        frame = read_table(write(tmp_path, "größe\tb\n1\té\n", "data.txt", "utf-16"))
        assert list(frame.columns) == ["größe", "b"]
        assert frame["größe"].tolist() == [1]
        assert "UTF-16" in frame.attrs["notes"][0]

    def test_repeated_names_are_said(self, tmp_path):
        frame = read_table(write(tmp_path, "a,a,b\n1,2,3\n"))
        assert list(frame.columns) == ["a", "a.1", "b"]
        assert "'a'" in frame.attrs["notes"][0]

    def test_a_column_that_numbers_the_rows_is_dropped(self, tmp_path):
        frame = read_table(write(tmp_path, ",a\n0,5\n1,6\n"))
        assert list(frame.columns) == ["a"]

    @pytest.mark.parametrize(
        ("text", "name", "word"),
        [
            ("", "data.csv", "empty"),
            ("\n\n", "data.csv", "empty"),
            ("a,b\n", "data.csv", "no rows"),
            ("a,b\n1,2\n1,2,3,4\n", "data.csv", "regular"),
            ("a,b\n1,2\n", "data.xlsx", "neither"),
            ("not parquet", "data.parquet", "Parquet"),
        ],
    )
    def test_what_is_no_table_is_one_line(self, tmp_path, text, name, word):
        with pytest.raises(DataError, match=word) as caught:
            read_table(write(tmp_path, text, name))
        assert "\n" not in str(caught.value)

    def test_parquet_with_dates_gives_the_same_table_as_csv(self, mixed, mixed_csv, tmp_path):
        path = tmp_path / "mixed.parquet"
        mixed.assign(since=pd.to_datetime(mixed["since"])).to_parquet(path)
        from_csv = prepare(read_table(mixed_csv), "price")
        from_parquet = prepare(read_table(path), "price")
        pd.testing.assert_frame_equal(from_csv.X, from_parquet.X)

    def test_unknown_built_in(self):
        with pytest.raises(DataError, match="did you mean 'wine'"):
            built_in("wien")


class TestTask:
    @pytest.mark.parametrize(
        ("y", "task"),
        [
            (["a", "b"] * 10, "classification"),
            ([True, False] * 10, "classification"),
            ([0, 1] * 10, "classification"),
            ([0.0, 1.0] * 10, "classification"),
            ([0.5, 1.5] * 10, "regression"),
            (list(range(20)), "regression"),
            (list(np.arange(20) % 10), "regression"),
            (pd.Categorical(["a", "b"] * 10), "classification"),
            (pd.array([0, 1, None, 1] * 5, dtype="Int64"), "classification"),
        ],
    )
    def test_auto(self, y, task):
        table = as_table(pd.DataFrame({"x": np.arange(20.0)}), y)
        assert table.task == task
        assert task in said(table)

    def test_missing_targets_are_dropped_and_said(self, mixed):
        table = prepare(mixed, "price")
        assert len(table.X) == len(table.y) == len(mixed) - 1
        assert "dropped 1 row whose target is missing" in said(table)

    @pytest.mark.parametrize(
        ("y", "task", "word"),
        [
            (["a"] * 20, "auto", "single value"),
            ([np.nan] * 20, "auto", "every row"),
            (["a", "b"] * 10, "regression", "needs a number"),
            ([f"u{i}" for i in range(20)], "auto", "identifier"),
            (pd.date_range("2020", periods=20), "auto", "dates"),
            ([np.inf, *range(19)], "regression", "infinite"),
            ([1, 2, 3], "auto", "20 rows"),
        ],
    )
    def test_bad_target(self, y, task, word):
        with pytest.raises(DataError, match=word):
            as_table(pd.DataFrame({"x": np.arange(20.0)}), y, task)

    def test_target_that_is_not_there(self, mixed):
        with pytest.raises(DataError, match="did you mean 'price'"):
            prepare(mixed, "Prize")


class TestFeatures:
    def test_each_kind_of_column(self, mixed):
        table = prepare(mixed, "price")
        assert "id" not in table.X
        assert "void" not in table.X
        assert table.X["since"].iloc[0] == 18262.0  # 2020-01-01 in days since 1970-01-01
        assert set(table.X["member"]) == {"True", "False"}
        assert table.X["sex"].isna().any()
        for word in ("identifier", "every value is missing", "dates", "'age': "):
            assert word in said(table)

    def test_tidying_twice_changes_nothing(self, mixed):
        once = prepare(mixed, "bought")
        twice = as_table(once.X, once.y)
        pd.testing.assert_frame_equal(once.X, twice.X)
        np.testing.assert_array_equal(once.y, twice.y)

    def test_odd_columns(self):
        n = 30
        frame = pd.DataFrame(
            {
                "x": np.arange(n, dtype=float),
                "infinite": [np.inf, *range(n - 1)],
                "constant": 1,
                "lists": [[1]] * n,
                "complex": np.arange(n) * 1j,
                "maybe": pd.array([True, None, False] * 10, dtype="boolean"),
                "whole": pd.array([1, None, 3] * 10, dtype="Int64"),
                "span": pd.to_timedelta(np.arange(n), unit="D"),
                "day": [pd.Timestamp("2020-01-01").date()] * 29 + [None],
                "zone": pd.date_range("2020", periods=n, tz="Europe/Berlin"),
            }
        )
        X = as_table(frame, ["a", "b"] * 15).X
        assert list(X) == ["x", "infinite", "maybe", "whole", "span", "day", "zone"]
        assert list(X.select_dtypes("number")) == ["x", "infinite", "whole", "span", "day", "zone"]
        assert np.isnan(X["infinite"].iloc[0])
        assert np.isfinite(preprocessor(X, Ridge()).fit_transform(X)).all()

    def test_arrays_get_names(self, rng):
        table = as_table(rng.normal(size=(20, 2)), [0, 1] * 10)
        assert list(table.X) == ["x0", "x1"]

    def test_nothing_left(self):
        with pytest.raises(DataError, match="no usable feature"):
            as_table(pd.DataFrame({"a": [1] * 20}), [0, 1] * 10)

    def test_repeated_names_are_refused(self):
        frame = pd.DataFrame(np.ones((4, 2)), columns=["a", "a"])
        with pytest.raises(DataError, match="repeat"):
            as_table(frame, [0, 1, 0, 1])

    def test_rows_is_a_sample_that_the_seed_fixes(self, mixed):
        a, b = (prepare(mixed, "bought", rows=40, random_state=3) for _ in range(2))
        assert len(a.X) == 40
        pd.testing.assert_frame_equal(a.X, b.X)
        assert "40 of 80 rows" in said(a)

    def test_a_large_table_is_said(self, mixed, monkeypatch):
        monkeypatch.setattr("panlearn.compare.table.LARGE", 100)
        assert "fewer with --rows" in said(prepare(mixed, "bought"))

    def test_numbers_are_scaled_to_what_the_model_takes(self, rng):
        X = pd.DataFrame({"a": rng.normal(50, 10, 40), "b": rng.normal(size=40)})
        standard, share, bins = (
            preprocessor(X, model).fit_transform(X)
            for model in (Ridge(), MultinomialNB(), CategoricalNB())
        )
        np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(share.min(axis=0), 0, atol=1e-15)
        np.testing.assert_allclose(share.max(axis=0), 1)
        assert set(np.unique(bins)) <= set(range(8))

    def test_many_categories_and_unknown_ones(self):
        train = pd.DataFrame({"c": [f"v{i % 120}" for i in range(1000)] + ["often"] * 500})
        prepared = preprocessor(train, Ridge()).fit(train)
        assert prepared.transform(train).shape[1] <= 50
        assert np.isfinite(prepared.transform(pd.DataFrame({"c": ["never seen", np.nan]}))).all()


class TestConform:
    @pytest.fixture
    def model(self, mixed):
        from sklearn.pipeline import make_pipeline

        table = prepare(mixed, "price")
        return make_pipeline(preprocessor(table.X, Ridge()), Ridge()).fit(table.X, table.y)

    def test_the_training_rows_come_out_as_they_were(self, mixed, model):
        X, notes = conform(mixed.dropna(subset="price"), model)
        expected = prepare(mixed, "price").X
        pd.testing.assert_frame_equal(X.reset_index(drop=True), expected)
        assert any("not used" in note and "'id'" in note for note in notes)

    def test_a_missing_column_is_named(self, mixed, model):
        with pytest.raises(DataError, match="needs the column 'age'; did you mean 'Age'"):
            conform(mixed.rename(columns={"age": "Age"}), model)

    def test_text_where_a_number_was(self, mixed, model):
        with pytest.raises(DataError, match="'age' has to be a number"):
            conform(mixed.assign(age="old"), model)

    def test_a_number_column_that_is_all_missing(self, mixed, model):
        X, _ = conform(mixed.assign(age=None), model)
        assert np.isfinite(model.predict(X)).all()


def test_a_table_of_one_column_has_nothing_to_learn_from():
    with pytest.raises(DataError, match="'a' is the only column"):
        prepare(pd.DataFrame({"a": range(30)}))


def test_numbers_too_large_to_count_are_a_quantity_and_stay_apart():
    large = np.tile([1e300, 2e300], 30)
    assert as_table(np.arange(60.0), large).task == "regression"
    assert len(np.unique(as_table(np.arange(60.0), large, "classification").y)) == 2
