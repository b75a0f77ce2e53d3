import json
import re

import panlearn
from panlearn.cli.catalogue import describe, sections
from panlearn.linear import Ridge


def test_list_has_every_public_method(run):
    found = json.loads(run("list", "--json").stdout)
    names = {method["name"] for method in found}
    assert {name for name, _ in panlearn.all_estimators()} <= names
    assert all(method["summary"] and "\n" not in method["summary"] for method in found)
    bare = {m["name"]: re.sub("``.*?``", "", m["summary"]) for m in found}
    assert not [name for name, text in bare.items() if "\\" in text or ":math:" in text]
    ridge = next(m for m in found if m["name"] == "Ridge")
    assert (ridge["family"], ridge["kind"]) == ("linear", "regressor")


def test_list_of_one_family(run):
    found = json.loads(run("list", "linear", "--json").stdout)
    assert {method["family"] for method in found} == {"linear"}
    assert "Ridge" in run("list", "linear").stdout


def test_info_shows_formula_parameters_and_reference(run):
    text = run("info", "ridge").stdout
    for word in (
        r"\min_{w, b}",
        "allowed",
        "a float in [0, inf)",
        "alpha",
        "1.0",
        "fit_intercept",
        "True",
        "Hoerl",
        "doi:",
        "sample_weight",
    ):
        assert word in text


def test_every_method_has_a_card():
    from panlearn.cli.methods import methods

    for name, (family, thing) in methods().items():
        assert describe(name, family, thing)["summary"], name


def test_card_of_a_class():
    card = describe("Ridge", "linear", Ridge)
    assert card["parameters"][0] == {
        "name": "alpha",
        "allowed": "a float in [0, inf) or array-like",
        "default": "1.0",
        "meaning": card["parameters"][0]["meaning"],
    }
    assert card["parameters"][0]["meaning"].startswith("The strength of the penalty")
    assert card["formula"].startswith(r"\min")
    assert ":math:" not in card["summary"]
    assert card["takes"] == str(Ridge.capabilities)


def test_sections_of_a_docstring():
    def documented():
        r"""Say one thing.

        .. math:: a = b

        Parameters
        ----------
        x, y : float
            Two numbers.

        See Also
        --------
        sklearn.linear_model.Ridge
        """

    parts = sections(documented)
    assert list(parts) == ["", "Parameters", "See Also"]
    assert parts["See Also"].strip() == "sklearn.linear_model.Ridge"


def test_info_of_a_part(run):
    full = run("info", "projections.simplex").stdout
    assert full == run("info", "simplex").stdout
    assert "panlearn.optimize.projections.simplex" in full


def test_code(run, capsys):
    exec(run("list", "--code").stdout, {})
    assert "Ridge" in capsys.readouterr().out
    exec(run("info", "Ridge", "--code").stdout, {"help": print})
    assert "Ridge" in capsys.readouterr().out


def test_info_tells_what_each_parameter_may_be(run):
    from panlearn.montecarlo import metropolis_hastings
    from panlearn.sequence import GaussianHMM

    allowed = {
        p["name"]: p["allowed"]
        for p in describe("GaussianHMM", "sequence", GaussianHMM)["parameters"]
    }
    kinds = ("diag", "full", "tied", "spherical")
    assert all(f"'{kind}'" in allowed["covariance_type"] for kind in kinds)
    assert allowed["n_components"].startswith("an int in")
    # of a function the docstring tells it, without the default
    card = describe("metropolis_hastings", "montecarlo", metropolis_hastings)
    assert all("default=" not in p["allowed"] for p in card["parameters"])
    assert any(p["allowed"] for p in card["parameters"])
