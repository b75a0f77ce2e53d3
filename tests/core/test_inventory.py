"""The list of all estimators, and the versions."""

import pytest
from sklearn.base import is_classifier, is_regressor

import panlearn
from panlearn.core.estimator import Estimator


def test_every_public_estimator_is_listed_once_in_order():
    names = [name for name, _ in panlearn.all_estimators()]
    assert names == sorted(set(names))
    for name, cls in panlearn.all_estimators():
        assert cls.__name__ == name
        assert issubclass(cls, Estimator)
        assert not cls.__abstractmethods__


def test_a_final_class_has_no_subclass():
    classes = [cls for _, cls in panlearn.all_estimators()]
    assert not [(a, b) for a in classes for b in classes if a is not b and issubclass(a, b)]


def test_filters():
    assert all(is_regressor(cls()) for _, cls in panlearn.all_estimators("regressor"))
    assert all(is_classifier(cls()) for _, cls in panlearn.all_estimators("classifier"))
    both = panlearn.all_estimators(["regressor", "classifier"])
    one = panlearn.all_estimators("regressor"), panlearn.all_estimators("classifier")
    assert len(both) == len(one[0]) + len(one[1])
    with pytest.raises(ValueError, match=r"among \['classifier'.*got \['oracle'\]"):
        panlearn.all_estimators("oracle")


def test_versions_are_shown(capsys):
    panlearn.show_versions()
    shown = capsys.readouterr().out
    for name in ("python", "panlearn", "numpy", "scikit-learn", "torch", "dask"):
        assert name in shown


def test_the_package_lists_what_it_has():
    pytest.importorskip("torch", reason="the families of networks need torch")
    for name in panlearn.__all__:
        assert hasattr(panlearn, name)
        assert name in dir(panlearn)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = panlearn.nonsense
