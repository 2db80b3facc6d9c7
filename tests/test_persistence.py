"""Saved models: JSON of stumps, skops and pickle of every estimator.

A loaded model must predict the same, bit for bit, and a text that `to_json` has not
written must be refused with a reason.
"""

import hashlib
import json
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sklearn_attnstump import (
    Contexts,
    GibbsHead,
    PretrainedAttentionStump,
    ReflectedHead,
    SingleHead,
    baselines,
)
from sklearn_attnstump.baselines import (
    MidpointStump,
)
from sklearn_attnstump.classifier import AttentionStumpClassifier
from sklearn_attnstump.persistence import FORMAT, SCHEMA

REFERENCE = Path(__file__).parent / "reference"

short = partial(
    PretrainedAttentionStump, solver="gd", step_size=30.0, max_iter=5, tol=0
)
# Predictions of a few steps are as good as any here, and nothing warns.
STUMPS = {
    "single": short(),
    "single auto": short(direction="auto", feature=0),
    "single context": short(SingleHead(), scaling="context"),
    "reflected anchors": short("reflected", anchors=True, feature_range=(-0.5, 1.25)),
    "reflected object": short(ReflectedHead(), scaling="rank", n_jobs=1),
    "gibbs": short("gibbs", feature_range=[0, 1]),
    "gibbs corpus": short(GibbsHead("corpus", bandwidth=0.7), direction=">="),
    "gibbs rank": short(GibbsHead(uniform_share=0.1), scaling="rank"),
    "flow": PretrainedAttentionStump("gibbs", solver="flow", horizon=10.0, tol=0),
}
BASELINES = {name: getattr(baselines, name)() for name in baselines.__all__}


def fitted_copy(made, corpus):
    """A copy, fitted to the corpus, with labels turned round if it takes them so."""
    contexts, thresholds = corpus
    if made.direction == ">=":
        contexts = Contexts.from_arrays(
            contexts.values, ~contexts.labels, contexts.offsets
        )
    return pickle.loads(pickle.dumps(made)).fit(contexts, thresholds)


@pytest.fixture(scope="module", params=[*STUMPS, "conformal", "from_coef"])
def stump(request, corpus):
    """A fitted stump of each kind."""
    if request.param == "from_coef":
        return PretrainedAttentionStump.from_coef(
            (1 / 3, 1e-300), "gibbs", scaling="context"
        )
    if request.param == "conformal":
        fitted = fitted_copy(STUMPS["gibbs"], corpus)
        fitted.conformalize(*corpus)
        fitted.conformity_scores_[-1] = np.inf
        return fitted
    return fitted_copy(STUMPS[request.param], corpus)


@pytest.fixture(scope="module")
def text(corpus):
    """A JSON text with an entry of every kind."""
    fitted = short(GibbsHead("corpus"), feature_range=(0, 1)).fit(*corpus)
    return fitted.conformalize(*corpus).to_json()


def assert_same_state(one, other, *, but=()):
    """All fitted attributes agree, bit for bit."""
    assert set(vars(one)) - set(but) == set(vars(other)) - set(but)
    for name in set(vars(one)) - set(but):
        mine, theirs = vars(one)[name], vars(other)[name]
        if isinstance(mine, (np.ndarray, tuple, list)):
            assert_array_equal(mine, theirs, err_msg=name)
        elif name in ("head", "head_"):
            assert str(mine) == str(theirs)
            assert_array_equal(_prior(mine), _prior(theirs))
        else:
            assert mine == theirs, name
        assert type(mine) is type(theirs) or name == "feature_range"


def _prior(head):
    prior = getattr(head, "prior_", None)
    return [] if prior is None else [*prior.density, *prior.edges, *prior.below]


class TestJson:
    def test_round_trip(self, stump, fresh):
        """Settings, fitted state and predictions; a second trip gives the same text."""
        text = stump.to_json()
        loaded = PretrainedAttentionStump.from_json(text)
        assert_same_state(stump, loaded, but=["path_"])
        assert_array_equal(loaded.predict(fresh), stump.predict(fresh))
        assert loaded.to_json() == text
        for one, other in zip(
            loaded.attention(fresh), stump.attention(fresh), strict=True
        ):
            assert_array_equal(one, other)

    def test_intervals_and_quantiles_survive(self, text, corpus, fresh):
        fitted = short(GibbsHead("corpus"), feature_range=(0, 1)).fit(*corpus)
        fitted.conformalize(*corpus)
        loaded = PretrainedAttentionStump.from_json(text)
        for method, argument in (("predict_quantiles", [0.1, 0.5]), ("predict", True)):
            assert_array_equal(
                getattr(loaded, method)(fresh, argument),
                getattr(fitted, method)(fresh, argument),
            )
        assert_array_equal(
            loaded.predict_interval(fresh, 0.5), fitted.predict_interval(fresh, 0.5)
        )

    @pytest.mark.parametrize(
        "classes",
        [
            (False, True),
            (0, 1),
            (-1, 1),
            (1, 2),
            ("dead", "alive"),
            ("\u00e9\n\"'\\", "\U0001f600"),
            (2**70, -(2**70)),
            (1.0, 3.0),
            (None, "only"),
        ],
    )
    def test_label_classes_keep_their_kind(self, classes):
        labels = [classes[1]] * 2 + [classes[0]] * (classes[0] is not None)
        x = [0.1, 0.4, 0.9][: len(labels)]
        items = Contexts([(x, np.array(labels, dtype=object))], positive=classes[1])
        fitted = MidpointStump().fit(items)
        stump = PretrainedAttentionStump.from_coef((5, 6), "gibbs", scaling="context")
        stump.label_classes_ = fitted.label_classes_
        loaded = PretrainedAttentionStump.from_json(stump.to_json())
        assert loaded.label_classes_ == classes
        assert list(map(type, loaded.label_classes_)) == list(map(type, classes))
        assert_array_equal(loaded.predict(items), stump.predict(items))

    def test_numbers_keep_every_bit(self):
        for coef in ([0.1, -0.0], [5e-324, 1.7976931348623157e308], [2 / 3, 1e23]):
            stump = PretrainedAttentionStump.from_coef(coef, feature_range=(0.1, 1e9))
            loaded = PretrainedAttentionStump.from_json(stump.to_json())
            assert loaded.coef_.tobytes() == np.array(coef, dtype=float).tobytes()
            assert loaded.feature_range_ == (0.1, 1e9)

    def test_numpy_settings_become_plain(self, corpus):
        fitted = short(
            init_scale=np.float64(9.5),
            feature=np.int64(0),
            anchors=np.bool_(True),
            feature_range=np.array([0.0, 1.0]),
        ).fit(*corpus)
        loaded = PretrainedAttentionStump.from_json(fitted.to_json())
        assert loaded.get_params()["init_scale"] == 9.5
        assert loaded.feature_range == (0.0, 1.0)
        assert_array_equal(loaded.predict(corpus[0]), fitted.predict(corpus[0]))

    def test_feature_names_are_kept(self, corpus):
        pd = pytest.importorskip("pandas")
        contexts, thresholds = corpus
        frame = pd.DataFrame(
            {
                "task": np.repeat(np.arange(len(contexts)), contexts.sizes),
                "dose": contexts.values[:, 0],
                "age": 1.0,
                "label": contexts.labels,
            }
        )
        named = Contexts.from_frame(
            frame, task="task", feature=["age", "dose"], label="label"
        )
        fitted = short(feature="dose").fit(named, thresholds)
        loaded = PretrainedAttentionStump.from_json(fitted.to_json())
        assert loaded.feature_names_in_.tolist() == ["age", "dose"]
        assert_array_equal(loaded.predict(named), fitted.predict(named))
        with pytest.raises(ValueError, match="same features"):
            loaded.predict(contexts)

    def test_it_is_small(self, text):
        """Two numbers and settings; the prior's 1,024 cells are the bulk."""
        plain = PretrainedAttentionStump.from_coef((5, 6), feature_range=(0, 1))
        assert len(plain.to_json()) < 2_000
        assert len(text) < 40_000

    def test_training_can_go_on(self, corpus):
        fitted = short(warm_start=True).fit(*corpus)
        loaded = PretrainedAttentionStump.from_json(fitted.to_json())
        assert loaded.fit(*corpus).path_.coef[0].tolist() == fitted.coef_.tolist()

    def test_subclasses_come_back_as_such(self):
        class Mine(PretrainedAttentionStump):
            """What a user may have derived."""

        stump = Mine.from_coef((5, 6), feature_range=(0, 1))
        assert type(Mine.from_json(stump.to_json())) is Mine


class TestJsonRefuses:
    def test_before_fit(self):
        with pytest.raises(NotFittedError):
            PretrainedAttentionStump().to_json()

    def test_heads_of_others(self, corpus):
        class Other(SingleHead):
            """Its code is not this package's to find again."""

        with pytest.raises(TypeError, match="not one of this package's heads"):
            short(Other()).fit(*corpus).to_json()

    def test_labels_that_json_has_no_form_for(self):
        stump = PretrainedAttentionStump.from_coef((5, 6), feature_range=(0, 1))
        stump.label_classes_ = (
            np.datetime64("2020-01-01"),
            np.datetime64("2021-01-01"),
        )
        with pytest.raises(TypeError, match="label_classes_ holds"):
            stump.to_json()

    @pytest.mark.parametrize(
        ("text", "error", "message"),
        [
            (b"{}", TypeError, "reads a str, got bytes"),
            (None, TypeError, "reads a str, got NoneType"),
            (Path("stump.json"), TypeError, "Open a file first"),
            ("", ValueError, "not JSON"),
            ("{", ValueError, "not JSON"),
            ("import os", ValueError, "not JSON"),
            ("[" * 100_000, ValueError, "not JSON"),
            ("1" * 10_000, ValueError, "not JSON"),
            ('{"coef": NaN}', ValueError, "NaN is no number"),
            ('{"coef": -Infinity}', ValueError, "-Infinity is no number"),
            ('{"a": 1, "a": 2}', ValueError, "stands there twice"),
            ("[]", ValueError, "not a stump's"),
            ("12", ValueError, "not a stump's"),
            ("{}", ValueError, "not a stump's"),
            ('{"format": "onnx"}', ValueError, "not a stump's"),
        ],
    )
    def test_other_formats(self, text, error, message):
        with pytest.raises(error, match=message):
            PretrainedAttentionStump.from_json(text)

    def test_newer_schemas_name_the_version(self, text):
        found = json.loads(text)
        found |= {"schema": SCHEMA + 1, "version": "9.0"}
        with pytest.raises(ValueError, match=r"9\.0, with schema 2.*Upgrade"):
            PretrainedAttentionStump.from_json(json.dumps(found))

    @pytest.mark.parametrize("schema", [0, -1, 1.0, "1", None, True, [1]])
    def test_schemas_that_are_none(self, text, schema):
        found = {**json.loads(text), "schema": schema}
        with pytest.raises(ValueError, match="'schema' cannot be"):
            PretrainedAttentionStump.from_json(json.dumps(found))

    def test_every_altered_entry_is_seen(self, text):
        """The digest covers each entry, added and left-out ones as well."""
        found = json.loads(text)
        for key in found:
            if key in ("format", "schema", "digest"):
                continue
            for other in (
                {**found, key: "other"},
                {k: v for k, v in found.items() if k != key},
            ):
                with pytest.raises(ValueError, match="changed after it was written"):
                    PretrainedAttentionStump.from_json(json.dumps(other))
        with pytest.raises(ValueError, match="changed after it was written"):
            PretrainedAttentionStump.from_json(json.dumps({**found, "more": 1}))

    def test_one_digit_is_seen(self, text):
        start = text.index('"coef": [') + 9
        digit = "1" if text[start + 5] != "1" else "2"
        with pytest.raises(ValueError, match="changed after it was written"):
            PretrainedAttentionStump.from_json(
                text[: start + 5] + digit + text[start + 6 :]
            )

    def test_white_space_and_order_are_no_change(self, text):
        turned = dict(reversed(json.loads(text).items()))
        loaded = PretrainedAttentionStump.from_json(json.dumps(turned, indent=4))
        assert loaded.to_json() == text

    @pytest.mark.parametrize(
        ("where", "value", "message"),
        [
            ("coef", [1.0], "'coef' cannot be"),
            ("coef", ["inf", 1.0], "'coef' cannot be"),
            ("coef", [True, False], "'coef' cannot be"),
            ("head", "gibbs", "'head' cannot be"),
            ("head.kind", "os.system", "'head.kind' cannot be 'os.system'"),
            ("head.kind", ["gibbs"], "'head.kind' cannot be"),
            ("head.params", {"prior": "evil"}, "'prior' parameter"),
            ("head.params", {"more": 1}, r"\['more'\], which GibbsHead lacks"),
            ("head.prior", [], "'head.prior' cannot be"),
            ("head.prior", [2.0], "'head.prior' cannot be"),
            ("head.prior", [3.0, -1.0], "'head.prior' cannot be"),
            ("head.prior", "corpus", "'head.prior' cannot be"),
            ("scaling.kind", "log", "'scaling.kind' cannot be"),
            ("scaling.kind", [], "'scaling.kind' cannot be"),
            ("scaling.direction", "auto", "'scaling.direction' cannot be"),
            ("scaling.feature_range", [1.0, 0.0], "'scaling.feature_range' cannot be"),
            ("scaling.feature_range", None, "lacks the 'feature_range'"),
            ("scaling.strict", 1, "'scaling.strict' cannot be"),
            ("scaling.more", 1, r"unknown entries \['more'\] in 'scaling'"),
            ("label_classes", [0], "'label_classes' cannot be"),
            ("label_classes", [1, 1], "'label_classes' cannot be"),
            ("label_classes", [{}, []], "'label_classes' cannot be"),
            ("feature", -1, "'feature' cannot be"),
            ("feature", True, "'feature' cannot be"),
            ("n_features", 1.5, "'n_features' cannot be"),
            ("feature_names", [1], "'feature_names' cannot be"),
            ("conformity_scores", [2.0, 1.0], "'conformity_scores' cannot be"),
            ("conformity_scores", [-1.0], "'conformity_scores' cannot be"),
            ("conformity_scores", ["-inf"], "'conformity_scores' cannot be"),
            ("conformity_scores", "inf", "'conformity_scores' cannot be"),
            ("record.loss_", -1.0, "'record.loss_' cannot be"),
            ("record.predict", "lambda: 0", "unknown entries"),
            ("params", [], "'params' cannot be"),
            ("params.solver", "exec", "settings make no stump.*'solver'"),
            ("params.solver", ["gd"], "settings make no stump.*'solver'"),
            ("params.more", 1, "settings make no stump.*more"),
            ("params.head", {"kind": "gibbs"}, "lacks the entry 'params.head.params'"),
            ("params.feature_range", [0, 1, 2], "settings make no stump.*pair"),
            ("params.init_scale", "__import__('os')", "settings make no stump"),
            ("more", 1, r"unknown entries \['more'\]\."),
        ],
    )
    def test_forged_entries(self, text, where, value, message):
        """A digest can be renewed; what makes no sense is refused all the same."""
        found = json.loads(text)
        *path, last = where.split(".")
        inner = found
        for key in path:
            inner = inner[key]
        inner[last] = value
        with pytest.raises(ValueError, match=message):
            PretrainedAttentionStump.from_json(sealed(found))

    def test_missing_entries(self, text):
        found = json.loads(text)
        for key in set(found) - {"format", "schema", "digest"}:
            rest = {k: v for k, v in found.items() if k != key}
            with pytest.raises(ValueError, match=f"lacks the entry '{key}'"):
                PretrainedAttentionStump.from_json(sealed(rest))


def sealed(found):
    """A JSON text with the digest that `to_json` would give it."""
    content = {key: value for key, value in found.items() if key != "digest"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps({**content, "digest": digest})


class TestEarlierReleases:
    """Texts of every release from 0.1.0 on must load and say what they said."""

    @pytest.mark.parametrize(
        "path", sorted(REFERENCE.glob("stump-*.*[0-9].json")), ids=lambda p: p.stem
    )
    def test_text_loads_and_predicts_the_same(self, path):
        stump = PretrainedAttentionStump.from_json(path.read_text(encoding="utf-8"))
        says = path.with_name(f"{path.stem}-says.json").read_text(encoding="utf-8")
        said = json.loads(says)
        # Another processor's exponential may differ in the last bit, no more.
        close = partial(assert_allclose, rtol=1e-13, atol=0)
        contexts = [(x, labels) for x, labels in said["contexts"]]
        predictions, deviations = stump.predict(contexts, return_std=True)
        close(predictions, said["predictions"])
        close(deviations, said["deviations"])
        close(stump.predict_interval(contexts, 0.8), said["intervals_80"])

    def test_there_are_some(self):
        text = (REFERENCE / "stump-0.1.json").read_text(encoding="utf-8")
        assert json.loads(text)["format"] == FORMAT


# All that skops asks to trust; a new type here widens what users must look through.
SKOPS_TYPES = {
    "sklearn_attnstump.baselines.BayesStump",
    "sklearn_attnstump.baselines.DecisionStump",
    "sklearn_attnstump.baselines.ERMStump",
    "sklearn_attnstump.baselines.LogisticStump",
    "sklearn_attnstump.baselines.MidpointStump",
    "sklearn_attnstump.baselines.OneSidedStump",
    "sklearn_attnstump.classifier.AttentionStumpClassifier",
    "sklearn_attnstump.estimators.PretrainedAttentionStump",
    "sklearn_attnstump.gibbs.GibbsHead",
    "sklearn_attnstump.priors.Prior",
    "sklearn_attnstump.scaling.Scaling",
    "sklearn_attnstump.softmax.ReflectedHead",
    "sklearn_attnstump.softmax.SingleHead",
    "sklearn_attnstump.solvers.SolverPath",
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[::7, 1] = np.nan
    return X, np.where(rng.random(80) < 0.5 + X[:, 0] / 9, "yes", "no")


@pytest.fixture(scope="module")
def models(corpus, fresh, table):
    """Every estimator, fitted, with what to predict on: (estimator, X)."""
    found = [
        (fitted_copy(made, corpus), fresh)
        for made in [*STUMPS.values(), *BASELINES.values()]
    ]
    found[5][0].conformalize(*corpus)
    for classifier in (
        AttentionStumpClassifier(random_state=np.random.RandomState(3)),
        AttentionStumpClassifier(found[6][0], max_features=2, random_state=0),
    ):
        found.append((classifier.fit(*table), table[0]))
    return found


class TestEveryEstimator:
    def test_skops_needs_this_packages_types_only(self, models):
        asked = set()
        for estimator, X in models:
            data = skops.io.dumps(estimator)
            types = skops.io.get_untrusted_types(data=data)
            loaded = skops.io.loads(data, trusted=types)
            assert_array_equal(loaded.predict(X), estimator.predict(X))
            asked |= set(types)
        assert asked == SKOPS_TYPES

    def test_the_list_is_that_of_the_security_page(self):
        page = Path(__file__).parents[1] / "SECURITY.md"
        text = page.read_text(encoding="utf-8")
        listed = text.partition("```text\n")[2].partition("```")[0].split()
        assert listed == sorted(SKOPS_TYPES)

    def test_skops_refuses_them_until_they_are_trusted(self, models):
        data = skops.io.dumps(models[0][0])
        with pytest.raises(skops.io.exceptions.UntrustedTypesFoundException):
            skops.io.loads(data)

    def test_skops_keeps_the_path_and_the_scores(self, models, tmp_path):
        estimator, X = models[5]
        skops.io.dump(estimator, tmp_path / "stump.skops")
        loaded = skops.io.load(tmp_path / "stump.skops", trusted=sorted(SKOPS_TYPES))
        assert_array_equal(loaded.path_.coef, estimator.path_.coef)
        assert_array_equal(
            loaded.predict_interval(X, 0.5), estimator.predict_interval(X, 0.5)
        )

    def test_unfitted_ones_are_written_too(self):
        for estimator in [*STUMPS.values(), *BASELINES.values()]:
            data = skops.io.dumps(estimator)
            loaded = skops.io.loads(data, trusted=sorted(SKOPS_TYPES))
            assert str(loaded) == str(estimator)

    def test_other_processes_predict_the_same(self, models, tmp_path):
        """Pickle, joblib and skops files, read by a fresh interpreter."""
        pickled = tmp_path / "models.pickle"
        pickled.write_bytes(pickle.dumps(models))
        joblib.dump(models, tmp_path / "models.joblib")
        skops.io.dump([estimator for estimator, _ in models], tmp_path / "models.skops")
        (tmp_path / "types.json").write_text(json.dumps(sorted(SKOPS_TYPES)))
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", READER, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[1],
        )
        assert run.returncode == 0, run.stderr
        here = [list(map(str, estimator.predict(X))) for estimator, X in models]
        there = json.loads(run.stdout)
        assert set(there) == {"pickle", "joblib", "skops"}
        for predictions in there.values():
            assert predictions == here


READER = """
import json
import pickle
import sys
from pathlib import Path

import joblib
import skops.io

folder = Path(sys.argv[1])
models = pickle.loads((folder / "models.pickle").read_bytes())
types = json.loads((folder / "types.json").read_text())
read = skops.io.load(folder / "models.skops", trusted=types)
found = {
    "pickle": models,
    "joblib": joblib.load(folder / "models.joblib"),
    "skops": [(estimator, X) for estimator, (_, X) in zip(read, models)],
}
said = {
    name: [[str(value) for value in e.predict(X)] for e, X in pairs]
    for name, pairs in found.items()
}
sys.stdout.write(json.dumps(said))
"""
