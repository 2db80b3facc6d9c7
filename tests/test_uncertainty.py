"""Deviations, quantiles and summaries of a frozen estimator.

What the posterior itself is worth is held against exact Bayes in `test_gibbs`; here it
is brought into the user's units, and its intervals are counted on fresh tasks.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.datasets import load_browser_support, make_stump_tasks
from sklearn_attnstump.metrics import label_error

LEVELS = [0.0, 0.05, 0.5, 0.95, 1.0]


def frozen(coef=(2.2, 1.0), head="gibbs", **settings):
    return PretrainedAttentionStump.from_coef(
        coef, head, **{"feature_range": (0, 1), **settings}
    )


def tasks(n_tasks=60, **laws):
    laws = {"label_noise": 0.1, "random_state": 0, **laws}
    return make_stump_tasks(n_tasks, (1, 12), **laws)


def mirrored(contexts):
    return contexts.with_values(1 - contexts.values)


# Standard deviation.


def test_std_of_one_token_by_hand():
    # With label 1 at x the density is e below x and 1 above, divided by their mass.
    x, lam = 0.3, 1.7
    e = np.exp(-lam)
    mass = e * x + 1 - x
    mean = (e * x**2 + 1 - x**2) / 2 / mass
    square = (e * x**3 + 1 - x**3) / 3 / mass
    prediction, std = frozen((lam, 1)).predict([([x], [1])], return_std=True)
    assert_allclose(prediction, [mean], rtol=1e-14)
    assert_allclose(std, [np.sqrt(square - mean**2)], rtol=1e-12)


@pytest.mark.parametrize("direction", ["<=", ">="])
def test_std_follows_shift_and_scale(direction):
    X, _ = tasks()
    settings = {"direction": direction}
    prediction, std = frozen(**settings).predict(X, return_std=True)
    shifted = frozen(feature_range=(-40, 60), **settings)
    other, wider = shifted.predict(X.with_values(100 * X.values - 40), return_std=True)
    assert_allclose(other, 100 * prediction - 40, rtol=1e-12, atol=1e-12)
    assert_allclose(wider, 100 * std, rtol=1e-10)


@pytest.mark.parametrize("scaling", ["range", "rank"])
def test_the_other_direction_is_the_mirror_image(scaling):
    X, _ = tasks()
    left, right = (frozen(scaling=scaling, direction=d) for d in ("<=", ">="))
    one, std = left.predict(X, return_std=True)
    other, same = right.predict(mirrored(X), return_std=True)
    assert_allclose(other, 1 - one, rtol=0, atol=1e-12)
    assert_allclose(same, std, rtol=1e-9)
    # The lower tail of the one is the upper tail of the other, in rising order.
    assert_allclose(
        right.predict_quantiles(mirrored(X), LEVELS)[:, ::-1],
        1 - left.predict_quantiles(X, LEVELS),
        rtol=0,
        atol=1e-12,
    )


def test_std_with_ranks():
    X, _ = tasks()
    stump = frozen(scaling="rank", feature_range=(0, 1))
    prediction, std = stump.predict(X, return_std=True)
    assert_array_equal(prediction, stump.predict(X))
    assert (std > 0).all()
    assert (std <= 0.5).all()
    # Half the way between the images of one deviation to either side, by hand for one:
    # ranks are 1/4 and 3/4, at 0.1 and 0.2; the uniform's mean is 1/2 without labels.
    flat = frozen((0.0, 1.0), scaling="rank")
    prediction, std = flat.predict([([0.1, 0.2], [1, 0])], return_std=True)
    deviation = 1 / np.sqrt(12)
    above = 0.2 + 0.8 * (deviation - 0.25) / 0.25
    below = 0.1 - 0.1 * (deviation - 0.25) / 0.25
    assert_allclose(prediction, 0.15)
    assert_allclose(std, (above - below) / 2, rtol=1e-12)


def test_noisier_contexts_have_wider_posteriors():
    clean, _ = tasks(200, label_noise=0.0)
    noisy, _ = tasks(200, label_noise=0.4)
    for coef in [(1.0, 1.0), (3.0, 1.0)]:
        _, sure = frozen(coef).predict(clean, return_std=True)
        _, unsure = frozen(coef).predict(noisy, return_std=True)
        assert unsure.mean() > 1.1 * sure.mean()


# Quantiles.


@pytest.mark.parametrize("scaling", ["range", "context", "rank"])
@pytest.mark.parametrize("direction", ["<=", ">="])
def test_quantiles_rise_from_end_to_end(scaling, direction):
    X, _ = tasks()
    X = X.with_values(7 + 3 * X.values)
    stump = frozen(scaling=scaling, direction=direction, feature_range=(7, 10))
    quantiles = stump.predict_quantiles(X, LEVELS)
    assert quantiles.shape == (len(X), 5)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    lo, hi = np.full(len(X), 7.0), np.full(len(X), 10.0)
    if scaling == "context":
        lo = np.minimum.reduceat(X.values[:, 0], X.offsets[:-1])
        hi = np.maximum.reduceat(X.values[:, 0], X.offsets[:-1])
    assert_allclose(quantiles[:, 0], lo, rtol=1e-14)
    assert_allclose(quantiles[:, -1], hi, rtol=1e-14)


def test_levels_in_any_order_and_number():
    X, _ = tasks(5)
    stump = frozen()
    both = stump.predict_quantiles(X, [0.9, 0.1])
    assert_array_equal(both[:, :1], stump.predict_quantiles(X, [0.9]))
    assert_array_equal(both[:, 1:], stump.predict_quantiles(X, 0.1))
    assert stump.predict_quantiles(X, []).shape == (5, 0)


@pytest.mark.parametrize("q", [-0.1, 1.1, [0.5, np.nan], [[0.5]]])
def test_levels_are_checked(q):
    with pytest.raises(ValueError, match=r"must be levels between 0 and 1"):
        frozen().predict_quantiles([([0.3], [1])], q)


@pytest.mark.parametrize("head", ["single", "reflected"])
def test_other_heads_have_no_posterior(head):
    X = [([0.2, 0.6], [1, 0])]
    stump = frozen((9.0, 9.0), head)
    for ask in (
        lambda: stump.predict_quantiles(X, [0.5]),
        lambda: stump.predict(X, return_std=True),
    ):
        with pytest.raises(ValueError, match=r"has none\. Use head='gibbs', or conf"):
            ask()


@pytest.mark.parametrize("flips", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("n_examples", [(1, 9), 50])
def test_credible_intervals_are_calibrated(flips, n_examples):
    # At the true parameters a 90 % interval holds 90 % of 10,000 fresh thresholds, up
    # to three standard errors of that count: 0.9 %. So do its two tails.
    X, y = make_stump_tasks(10_000, n_examples, label_noise=flips, random_state=2)
    stump = frozen((np.log((1 - flips) / flips), 1.0))
    lower, upper = stump.predict_quantiles(X, [0.05, 0.95]).T
    assert 0.89 <= np.mean((lower <= y) & (y <= upper)) <= 0.91
    assert abs(np.mean(y < lower) - 0.05) < 0.007
    assert abs(np.mean(y > upper) - 0.05) < 0.007


def test_deviations_are_calibrated():
    X, y = make_stump_tasks(10_000, 12, label_noise=0.1, random_state=3)
    prediction, std = frozen((np.log(9), 1.0)).predict(X, return_std=True)
    assert_allclose(np.mean((y - prediction) ** 2), np.mean(std**2), rtol=0.05)


def test_credible_intervals_of_the_corpus_prior_are_calibrated():
    laws = {"label_noise": 0.1, "threshold_range": (0.55, 0.75)}
    past, thresholds = make_stump_tasks(2000, 5, random_state=4, **laws)
    X, y = make_stump_tasks(10_000, 5, random_state=5, **laws)
    stump = PretrainedAttentionStump(GibbsHead("corpus"), feature_range=(0, 1))
    lower, upper = stump.fit(past, thresholds).predict_quantiles(X, [0.05, 0.95]).T
    # The parameters are learned here for the squared error, not for the intervals.
    assert 0.87 <= np.mean((lower <= y) & (y <= upper)) <= 0.95
    assert np.mean(upper - lower) < 0.2


# Summaries.

COLUMNS = ["n", "n_positive", "label_error", "one_label", "not_separable"]


def table_of(stump, X, **settings):
    return stump.summary(X, backend="pandas", **settings)


def test_summary_of_hand_written_contexts():
    X = Contexts(
        [
            ([0.1, 0.2, 0.8], [1, 1, 0]),
            ([0.1, 0.2, 0.8, 0.9], [1, 0, 1, 0], [1.0, 1.0, 3.0, 1.0]),
            ([0.4, 0.6], [1, 1]),
            ([0.4, 0.6, 0.1], [0, 0, 1], [1.0, 1.0, 0.0]),
        ],
        task_ids=["ann", "bob", "cid", "dot"],
    )
    table = table_of(frozen((50, 1)), X)
    intervals = ["task", "threshold", "lower", "upper"]
    assert table.columns.tolist() == [*intervals, *COLUMNS, "outside_range"]
    assert table["task"].tolist() == ["ann", "bob", "cid", "dot"]
    assert_allclose(table["threshold"], frozen((50, 1)).predict(X))
    assert table["n"].tolist() == [3, 4, 2, 3]
    assert table["n_positive"].tolist() == [2, 2, 2, 1]
    assert table["one_label"].tolist() == [False, False, True, True]
    assert table["not_separable"].tolist() == [False, True, False, False]
    assert table["outside_range"].tolist() == [False] * 4
    assert_allclose(table["label_error"], [0, 1 / 6, 0, 0])


@pytest.mark.parametrize("direction", ["<=", ">="])
def test_flags_know_the_direction(direction):
    # Separable one way round only; ties of both labels never.
    X = Contexts([([0.1, 0.9], [1, 0]), ([0.1, 0.9], [0, 1]), ([0.5, 0.5], [1, 0])])
    table = table_of(frozen(direction=direction), X)
    first = direction == "<="
    assert table["not_separable"].tolist() == [not first, first, True]
    assert_array_equal(
        table["label_error"], label_error(X, table["threshold"], direction=direction)
    )


def test_summary_counts_observations_and_not_anchors():
    X = [([0.2, 0.3], [1, 1])]
    stump = frozen((20, 20), "reflected", anchors=True)
    table = table_of(stump, X)
    assert (table["n"][0], table["n_positive"][0], table["one_label"][0]) == (
        2,
        2,
        True,
    )


def test_intervals_of_the_summary():
    X, y = tasks(60)
    stump = frozen()
    table = table_of(stump, X, coverage=0.8)
    ends = table[["lower", "upper"]].to_numpy()
    assert_allclose(ends, stump.predict_quantiles(X, [0.1, 0.9]), rtol=1e-15)
    stump.conformalize(X, y)
    ends = table_of(stump, X, coverage=0.8)[["lower", "upper"]].to_numpy()
    assert_array_equal(ends, stump.predict_interval(X, coverage=0.8))


def test_heads_without_a_posterior_have_no_interval_until_calibrated():
    X, y = tasks(40)
    stump = frozen((30, 35), "reflected", anchors=True)
    assert not {"lower", "upper"} & set(table_of(stump, X).columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        stump.conformalize(X, y)
    assert {"lower", "upper"} < set(table_of(stump, X).columns)


def test_range_learned_and_left():
    X, y = make_stump_tasks(40, 20, label_noise=0.1, random_state=6)
    stump = PretrainedAttentionStump("gibbs").fit(X, y)
    fresh = [([0.4, 0.6], [1, 0]), ([0.4, 7.0], [1, 0]), ([-3.0, 0.6], [1, 0])]
    with pytest.warns(UserWarning, match="outside the range") as caught:
        table = table_of(stump, fresh)
    assert table["outside_range"].tolist() == [False, True, True]
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_frames_of_each_library(backend, kind):
    X, _ = tasks(4)
    table = frozen().summary(X, backend=backend)
    assert isinstance(table, kind)
    asked = table_of(frozen(), X)
    as_pandas = table if backend == "pandas" else table.to_pandas()
    pd.testing.assert_frame_equal(as_pandas, asked, check_dtype=False)
    assert as_pandas["n"].dtype == np.int64
    assert as_pandas["threshold"].dtype == np.float64
    assert as_pandas["one_label"].dtype == bool
    if backend != "pyarrow":
        with config_context(transform_output=backend):
            assert isinstance(frozen().summary(X), kind)


def test_frame_by_default_and_refused():
    X, _ = tasks(4)
    with config_context(transform_output="default"):
        assert isinstance(frozen().summary(X), pd.DataFrame)
    with pytest.raises(ValueError, match=r"backend='excel': pass one of"):
        frozen().summary(X, backend="excel")


def test_without_a_frame_library(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs pandas, polars or pyarrow"):
        frozen().summary([([0.3], [1])])


def test_task_ids_of_any_kind():
    names = [np.int64(7), "x/y", 3.5]
    X = Contexts([([0.2], [1]), ([0.3], [0]), ([0.4], [1])], task_ids=names)
    assert table_of(frozen(), X)["task"].tolist() == X.task_ids.tolist()
    browsers = load_browser_support()
    stump = frozen(direction=">=", feature_range=(2000, 2030))
    table = table_of(stump, browsers.contexts[::40])
    assert table["task"].tolist() == browsers.task_ids[::40].tolist()
    agree = (table["lower"] <= table["threshold"]) & (
        table["threshold"] <= table["upper"]
    )
    assert agree.all()
