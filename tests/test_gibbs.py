"""The Gibbs head: reference values, exact Bayes, derivatives and laws.

`naive_head` is the definition, written for one context; `grid_posterior` knows no gaps
at all: it puts a threshold into each cell of a fine grid and counts wrong labels.
"""

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump, gibbs
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.objective import CorpusLoss

REFERENCE = json.loads(
    Path(__file__).with_name("reference").joinpath("gibbs_head.json").read_text()
)
COEFS = [(0.0, 1.0), (0.7, 1.0), (2.2, 0.4), (5.0, 2.0)]
EXTREMES = [0.0, 1e8, 1e300]

# A density of the corpus's kind, with a share of the uniform that is felt.
LEARNED = GibbsHead("corpus", uniform_share=0.1).learn(
    np.random.default_rng(0).beta(4, 2, 30), None
)
HEADS = {"uniform": GibbsHead(), "corpus": LEARNED}


@pytest.fixture(params=sorted(HEADS))
def head(request):
    return HEADS[request.param]


def prior_of(head):
    return head.prior_in_use()


def naive_head(head, x, labels, weights, coef):
    """Attention, prediction and gaps of one context, straight from the definition."""
    knots = np.unique(np.concatenate([[0.0, 1.0], x[weights > 0]]))
    log_weight, value = [], []
    for lo, hi in pairwise(knots):
        contradicted = weights[(x <= lo) != labels.astype(bool)].sum()
        gap = prior_of(head).of_gaps(np.array([lo]), np.array([hi]))
        log_weight.append(-coef[0] * contradicted + coef[1] * gap.log_mass[0])
        value.append(gap.mean[0])
    attention = np.exp(np.array(log_weight) - max(log_weight))
    attention /= attention.sum()
    return attention, attention @ value


def ragged(seed, n_tasks=12, *, step=None):
    """Contexts of 1 to 9 tokens with ties and weights, some zero, labels at random."""
    rng = np.random.default_rng(seed)
    items = []
    for size in rng.integers(1, 10, n_tasks):
        omega = rng.exponential(size=size) * (rng.uniform(size=size) < 0.8)
        omega[rng.integers(size)] = 1.0
        x = rng.uniform(size=size).round(2)
        if step is not None:
            x = rng.integers(0, step + 1, size) / step
        items.append((x, rng.integers(0, 2, size), omega))
    return items


def whole(items):
    """The same contexts with integer weights."""
    return [(x, labels, np.ceil(2 * w)) for x, labels, w in items]


# Reference values.


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: case["name"])
def test_reference_values(case):
    contexts = [(case["x"], case["label"])]
    coef = (case["disagreement_scale"], case["gap_weight"])
    head = GibbsHead()
    assert_allclose(head.predict(contexts, coef)[0], case["prediction"], atol=1e-10)
    assert_allclose(
        head.pack(Contexts(contexts)).quantiles(
            np.array(coef), np.array(case["quantile_levels"])
        )[0],
        case["quantiles"],
        rtol=0,
        atol=1e-10,
    )
    (weights,) = head.weights(contexts, coef)
    assert_allclose(weights, case["gap_weights"], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: case["name"])
def test_reference_values_through_the_estimator(case):
    stump = PretrainedAttentionStump.from_coef(
        (case["disagreement_scale"], case["gap_weight"]),
        "gibbs",
        feature_range=(0, 1),
    )
    X = [(case["x"], case["label"])]
    quantiles = stump.predict_quantiles(X, case["quantile_levels"])
    assert_allclose(stump.predict(X), [case["prediction"]], rtol=0, atol=1e-10)
    assert_allclose(quantiles, [case["quantiles"]], rtol=0, atol=1e-10)


def test_naive_head(head):
    items = ragged(1, 40)
    for coef in COEFS:
        prediction, weights = head.predict(items, coef), head.weights(items, coef)
        for task, item in enumerate(items):
            attention, value = naive_head(head, *item, coef)
            assert_allclose(weights[task], attention, rtol=1e-12)
            assert_allclose(prediction[task], value, rtol=1e-12)


# Exact Bayes.


def grid_posterior(head, x, labels, weights, coef, n_cells=4096):
    """Posterior of the threshold's cell in a grid that all observations are on.

    Within a cell the likelihood and the prior are constant, so nothing is approximated.
    """
    edges = np.linspace(0, 1, n_cells + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    wrong = (x[:, np.newaxis] <= middle) != labels[:, np.newaxis].astype(bool)
    likelihood = np.exp(-coef[0] * (weights @ wrong))
    mass = likelihood * prior_of(head).mass(edges[:-1], edges[1:])
    return edges, middle, mass / mass.sum()


@pytest.mark.parametrize("flips", [0.02, 0.1, 0.3])
def test_exact_bayes_under_label_flips(head, flips):
    items = [(x, y, np.ones(len(x))) for x, y, _ in ragged(2, 25, step=4096)]
    coef = np.array([np.log((1 - flips) / flips), 1.0])
    pack = head.pack(Contexts(items))
    prediction, deviation = pack.evaluate(coef, 0).prediction, pack.deviation(coef)
    levels = np.array([0.0, 0.05, 0.5, 0.95, 1.0])
    quantiles = pack.quantiles(coef, levels)
    for task, item in enumerate(items):
        edges, middle, posterior = grid_posterior(head, *item, coef)
        # That the weights are likelihoods: each wrong label costs a factor e / (1 - e).
        mean = posterior @ middle
        variance = posterior @ (middle - mean) ** 2 + (1 / 4096) ** 2 / 12
        assert_allclose(prediction[task], mean, rtol=1e-11)
        assert_allclose(deviation[task], np.sqrt(variance), rtol=1e-8)
        upto = np.concatenate([[0.0], np.cumsum(posterior)])
        upto[-1] = 1.0
        assert_allclose(
            quantiles[task], np.interp(levels, upto, edges), rtol=0, atol=1e-9
        )


def test_token_weights_in_the_posterior(head):
    items = ragged(3, 25, step=4096)
    coef = np.array([1.3, 1.0])
    prediction = head.predict(items, coef)
    for task, item in enumerate(items):
        _, middle, posterior = grid_posterior(head, *item, coef)
        assert_allclose(prediction[task], posterior @ middle, rtol=1e-11)


def test_quantiles_are_monotone_and_within_the_range(head):
    pack = head.pack(Contexts(ragged(4, 50)))
    quantiles = pack.quantiles(np.array([2.0, 0.7]), np.linspace(0, 1, 101))
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert_allclose(quantiles[:, 0], 0.0, atol=1e-15)
    assert_allclose(quantiles[:, -1], 1.0, rtol=1e-15)


def test_quantiles_skip_gaps_without_weight():
    # All of the weight lies between the labels; the first gap's underflows to nothing.
    pack = GibbsHead().pack(Contexts([([0.2, 0.4, 0.8], [1, 1, 0])]))
    quantiles = pack.quantiles(np.array([2000.0, 1.0]), np.array([0.0, 0.25, 1.0]))
    assert_allclose(quantiles, [[0.4, 0.5, 0.8]], rtol=1e-15)


# Derivatives.


def exact_derivatives(head, item, coef):
    """Prediction, Jacobian and Hessian by differentiation in 40 digits."""
    x, labels, weights = item
    knots = np.unique(np.concatenate([[0.0, 1.0], x[weights > 0]]))
    gaps = prior_of(head).of_gaps(knots[:-1], knots[1:])
    wrong = (x <= knots[:-1, np.newaxis]) != labels.astype(bool)
    table = [
        tuple(map(mpmath.mpf, row))
        for row in np.column_stack([wrong @ weights, gaps.log_mass, gaps.mean]).tolist()
    ]

    def value(lam, kap):
        score = [mpmath.exp(-lam * d + kap * p) for d, p, _ in table]
        return mpmath.fdot(score, [v for *_, v in table]) / mpmath.fsum(score)

    with mpmath.workdps(40):
        point = tuple(map(mpmath.mpf, coef))
        f, f_l, f_k, f_ll, f_lk, f_kk = (
            float(mpmath.diff(value, point, order))
            for order in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
        )
    return f, [f_l, f_k], [[f_ll, f_lk], [f_lk, f_kk]]


@pytest.mark.parametrize("coef", COEFS)
def test_derivatives_in_many_digits(head, coef):
    items = ragged(5, 8)
    prediction, jacobian, hessian = head.derivatives(items, coef)
    assert (prediction.shape, jacobian.shape) == ((8,), (8, 2))
    assert hessian.shape == (8, 2, 2)
    for task, item in enumerate(items):
        f, gradient, curvature = exact_derivatives(head, item, coef)
        assert_allclose(prediction[task], f, rtol=1e-12)
        assert_allclose(jacobian[task], gradient, rtol=1e-9, atol=1e-14)
        assert_allclose(hessian[task], curvature, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("coef", COEFS)
def test_derivatives_by_finite_differences(head, coef):
    items, h = ragged(6, 20), 1e-5
    _, jacobian, hessian = head.derivatives(items, coef)
    for k, step in enumerate(np.eye(2) * h):
        ahead = head.derivatives(items, coef + step)
        behind = head.derivatives(items, coef - step)
        # A step of 1e-5 truncates at 1e-10 and rounds at 1e-11.
        slope = (ahead[0] - behind[0]) / (2 * h)
        assert_allclose(jacobian[:, k], slope, rtol=0, atol=1e-9)
        slope = (ahead[1] - behind[1]) / (2 * h)
        assert_allclose(hessian[:, k], slope, rtol=0, atol=1e-8)


# Laws.


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
@pytest.mark.parametrize(
    "coef", [(0.05, 1.0), (0.7, 0.3), (2.5, 1.0), (6.0, 3.0), (20.0, 1.0), (300.0, 2.0)]
)
def test_gaps_that_do_not_matter_are_left_out_in_pretraining(head, noise, coef):
    """The corpus's pack gives what the whole gives, to the digits that derivatives of
    a hundred times smaller terms have, and none of it depends on the other contexts."""
    rng = np.random.default_rng(3)
    items = []
    for size in (400, 3, 1000, 1, 60):
        x = rng.uniform(size=size)
        items.append((x, (x <= rng.uniform()) ^ (rng.uniform(size=size) < noise)))
    contexts, coef = Contexts(items), np.array(coef)
    pack = head.pack_corpus(contexts)
    found, everything = pack.evaluate(coef, 2), head.pack(contexts).evaluate(coef, 2)
    for got, want in zip(found, everything, strict=True):
        assert_allclose(got, want, rtol=1e-9, atol=1e-12 * np.abs(want).max())
    for task in range(len(items)):
        alone = head.pack_corpus(contexts[task]).evaluate(coef, 2)
        for got, want in zip(alone, found, strict=True):
            assert_array_equal(got[0], want[task])
    pack.evaluate(np.array([1.0, 1.0]), 1)  # no trace of what was asked in between
    for got, want in zip(pack.evaluate(coef, 2), found, strict=True):
        assert_array_equal(got, want)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_corpus_is_packed_in_pieces_of_tasks(head, weighted, monkeypatch):
    """Bit for bit: pieces are of whole tasks, and what is halved in memory is exact."""
    items = ragged(31, 40)
    contexts = Contexts(items if weighted else [item[:2] for item in items])
    monkeypatch.setattr(gibbs, "_PIECE", 100)
    terms = head.pack_corpus(contexts).terms
    assert terms.excess.dtype == (np.float64 if weighted else np.float32)
    want = head.pack(contexts).terms
    for got, expected in zip(terms, want, strict=True):
        assert_array_equal(got, expected)
    for order in (0, 1, 2):
        coef = np.array([1.3, 0.8])
        found = terms.evaluate(coef, order), want.evaluate(coef, order)
        for got, expected in zip(*found, strict=True):
            assert_array_equal(got, expected)


@pytest.mark.parametrize("coef", [(1e300, 1.0), (1.0, 1e300), (1e-300, 1e-300)])
def test_corpora_bear_coefficients_of_any_size(head, coef):
    contexts = Contexts([([0.1, 0.4, 0.6], [1, 0, 1], [1e6, 1.0, 1.0]), ([0.5], [1])])
    found = head.pack_corpus(contexts).evaluate(np.array(coef), 1)
    want = head.pack(contexts).evaluate(np.array(coef), 1)
    for got, expected in zip(found, want, strict=True):
        assert_allclose(got, expected, rtol=1e-12)


def test_weights_sum_to_one(head):
    for coef in [*COEFS, (0.0, 0.0), (1e8, 1e8)]:
        for weights in head.weights(ragged(7), coef):
            assert weights.min() >= 0
            assert_allclose(weights.sum(), 1.0, rtol=1e-14)


def test_weight_is_replication(head):
    items = whole(ragged(8))
    copied = [
        (np.repeat(x, w.astype(int)), np.repeat(y, w.astype(int))) for x, y, w in items
    ]
    for one, other in zip(
        head.derivatives(items, (1.5, 0.8)),
        head.derivatives(copied, (1.5, 0.8)),
        strict=True,
    ):
        assert_array_equal(one, other)


def test_tokens_of_weight_zero_change_nothing(head):
    items = ragged(9)
    bare = [tuple(column[item[2] > 0] for column in item) for item in items]
    assert any(len(a[0]) < len(b[0]) for a, b in zip(bare, items, strict=True))
    for one, other in zip(
        head.derivatives(items, (1.5, 0.8)),
        head.derivatives(bare, (1.5, 0.8)),
        strict=True,
    ):
        assert_array_equal(one, other)


@pytest.mark.parametrize("scaling", ["range", "context", "rank"])
@pytest.mark.parametrize("stray", [-50.0, 0.37, 90.0])
def test_a_stray_token_of_weight_zero_changes_nothing(scaling, stray):
    stump = PretrainedAttentionStump.from_coef(
        (2.0, 0.8), "gibbs", scaling=scaling, feature_range=(0, 1)
    )
    bare = ([0.2, 0.4, 0.7], [1, 1, 0], [1.0, 1.0, 2.0])
    padded = ([0.2, 0.4, stray, 0.7], [1, 1, 0, 0], [1.0, 1.0, 0.0, 2.0])
    assert_array_equal(stump.predict([padded]), stump.predict([bare]))
    assert_array_equal(
        stump.predict_quantiles([padded], [0.1, 0.9]),
        stump.predict_quantiles([bare], [0.1, 0.9]),
    )


def test_order_of_tokens_does_not_matter(head):
    items = whole(ragged(10))
    turned = [tuple(column[::-1] for column in item) for item in items]
    assert_array_equal(
        head.predict(items, (1.5, 0.8)), head.predict(turned, (1.5, 0.8))
    )


def test_a_context_knows_nothing_of_the_others(head):
    items = ragged(11)
    alone = [head.predict([item], (1.5, 0.8))[0] for item in items]
    assert_array_equal(head.predict(items, (1.5, 0.8)), alone)


def test_reflection():
    # The mirror image of a context has the mirrored threshold.
    items = ragged(12)
    mirrored = [(1 - x, 1 - y, w) for x, y, w in items]
    assert_allclose(
        GibbsHead().predict(mirrored, (1.5, 0.8)),
        1 - GibbsHead().predict(items, (1.5, 0.8)),
        rtol=1e-12,
    )


@pytest.mark.parametrize("lam", [0.0, 0.5, 3.0])
def test_no_disagreement_leaves_the_prior(head, lam):
    # At lam = 0 nothing is learned from labels; with kap = 1 the prior's mean remains.
    items = ragged(13)
    whole_range = prior_of(head).of_gaps(np.zeros(1), np.ones(1))
    if lam == 0:
        assert_allclose(
            head.predict(items, (0.0, 1.0)), whole_range.mean[0], rtol=1e-10
        )
    else:
        assert np.ptp(head.predict(items, (lam, 1.0))) > 0.01


def test_kap_zero_weighs_gaps_alike():
    (weights,) = GibbsHead().weights([([0.1, 0.15, 0.9], [1, 0, 0])], (0.0, 0.0))
    assert_allclose(weights, 0.25, rtol=1e-15)


# Special contexts.


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        # One token: the posterior mean has three parts a child could add up. With
        # e = exp(-lam) it is [e x^2 / 2 + (1 - x^2) / 2] / [e x + 1 - x] for label 1.
        (([0.3], [1]), lambda e: (e * 0.09 + 0.91) / 2 / (e * 0.3 + 0.7)),
        (([0.3], [0]), lambda e: (0.09 + e * 0.91) / 2 / (0.3 + e * 0.7)),
        # Ties of opposite labels cancel; three tokens here act as one.
        (
            ([0.3, 0.3, 0.3], [1, 1, 0]),
            lambda e: (e * 0.09 + 0.91) / 2 / (e * 0.3 + 0.7),
        ),
        (([0.3, 0.3], [1, 0]), lambda e: 0.5),
        # Tokens at the range's ends shut no gap out.
        (([0.0, 1.0], [1, 0]), lambda e: 0.5),
        (([0.0, 1.0], [0, 1]), lambda e: 0.5),
        (([1.0, 1.0], [1, 1]), lambda e: 0.5),
        # One label only: gaps of e^2, e and 1 from left to right.
        (
            ([0.2, 0.5], [1, 1]),
            lambda e: (
                (e**2 * 0.04 + e * 0.21 + 0.75) / 2 / (e**2 * 0.2 + e * 0.3 + 0.5)
            ),
        ),
    ],
)
def test_by_hand(item, expected):
    for lam in (0.0, 0.7, 4.0):
        assert_allclose(
            GibbsHead().predict([item], (lam, 1.0))[0],
            expected(np.exp(-lam)),
            rtol=1e-14,
        )


@pytest.mark.parametrize(
    "item",
    [
        ([0.3], [1]),
        ([0.0], [0]),
        ([1.0, 1.0], [1, 0]),
        ([0.2, 0.4, 0.4, 0.9], [1, 0, 1, 0]),
        ([0.0, 0.5, np.nextafter(0.5, 1), 1.0], [1, 1, 0, 0]),
        ([0.0, 5e-324, 0.4], [1, 0, 0]),
        ([0.1, 0.5], [1, 1], [1e-100, 1e100]),
    ],
)
@pytest.mark.parametrize("lam", EXTREMES)
@pytest.mark.parametrize("kap", EXTREMES)
def test_no_coefficients_overflow(head, item, lam, kap):
    # Warnings are errors here.
    coef = (lam, kap)
    prediction, jacobian, hessian = head.derivatives([item], coef)
    assert 0 <= prediction[0] <= 1
    assert np.isfinite(jacobian).all()
    assert np.isfinite(hessian).all()
    assert_allclose(head.weights([item], coef)[0].sum(), 1.0, rtol=1e-14)
    pack = head.pack(Contexts([item]))
    deviation = pack.deviation(np.array(coef))[0]
    assert 0 <= deviation <= 0.5
    quantiles = pack.quantiles(np.array(coef), np.array([0.0, 0.1, 0.5, 1.0]))[0]
    assert (np.diff(quantiles) >= 0).all()
    assert quantiles[0] >= 0
    assert quantiles[-1] <= 1


def test_large_lam_is_the_mean_of_the_best_gaps():
    # Tied best gaps (0.2, 0.3) and (0.6, 0.8), by their widths.
    items = [([0.2, 0.3, 0.6, 0.8], [1, 0, 1, 0])]
    assert_allclose(
        GibbsHead().predict(items, (1e8, 1.0)),
        [(0.1 * 0.25 + 0.2 * 0.7) / 0.3],
        rtol=1e-14,
    )


def test_memory_is_linear_in_the_tokens(head):
    def peak(n_tokens):
        rng = np.random.default_rng(14)
        contexts = Contexts(
            [(rng.uniform(size=n_tokens), rng.integers(0, 2, n_tokens))]
        )
        tracemalloc.start()
        head.pack(contexts).evaluate(np.array([1.0, 1.0]), 2)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / n_tokens

    small, large = peak(20_000), peak(320_000)
    assert large < 1.2 * small
    assert large < 400  # bytes: some thirty numbers a token


# Parameters.


def test_corpus_prior_needs_a_corpus():
    with pytest.raises(ValueError, match=r"prior='corpus' needs a corpus"):
        GibbsHead("corpus").predict([([0.3], [1])], (1.0, 1.0))
    stump = PretrainedAttentionStump.from_coef(
        (1.0, 1.0), GibbsHead("corpus"), feature_range=(0, 1)
    )
    with pytest.raises(ValueError, match=r"learn\(thresholds, weights\)"):
        stump.predict([([0.3], [1])])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prior", "normal"),
        ("uniform_share", 0.0),
        ("uniform_share", 1.1),
        ("bandwidth", 0.0),
        ("bandwidth", "silverman"),
        ("shrinkage", -1.0),
    ],
)
def test_settings_are_checked(corpus, name, value):
    stump = PretrainedAttentionStump(GibbsHead().set_params(**{name: value}))
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of GibbsHead"):
        stump.fit(*corpus)


def test_a_misspelt_prior_is_not_the_uniform():
    with pytest.raises(InvalidParameterError, match="'prior' parameter"):
        GibbsHead("corpsu").predict([([0.3, 0.4], [1, 0])], (1.0, 1.0))


def test_observations_must_lie_in_the_unit_interval():
    with pytest.raises(ValueError, match="unit interval, found observations from -2"):
        GibbsHead().predict([([-2.0, 0.5], [1, 0])], (1.0, 1.0))


def test_fit_leaves_the_given_head_alone(corpus):
    given = GibbsHead("corpus")
    stump = PretrainedAttentionStump(given).fit(*corpus)
    assert not hasattr(given, "prior_")
    assert stump.head_ is not given
    assert stump.head_.get_params() == given.get_params()
    assert not hasattr(clone(stump.head_), "prior_")


def test_names_of_the_coefficients(corpus):
    stump = PretrainedAttentionStump("gibbs").fit(*corpus)
    assert_array_equal(stump.coef_, [stump.disagreement_scale_, stump.prior_weight_])


# Pretraining.


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("flips", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("solver", ["newton", "flow", "gd"])
def test_coefficients_stay_in_range(solver, flips):
    X, y = make_stump_tasks(60, 12, label_noise=flips, random_state=15)
    stump = PretrainedAttentionStump("gibbs", solver=solver, max_iter=300)
    stump.fit(X, y)
    assert (stump.path_.coef > 0).all()
    assert (stump.coef_ > 0).all()


def test_flow_ends_where_newton_does():
    X, y = make_stump_tasks(60, 12, label_noise=0.1, random_state=16)
    ends = {
        solver: PretrainedAttentionStump("gibbs", solver=solver).fit(X, y)
        for solver in ("newton", "flow")
    }
    assert all(end.converged_ for end in ends.values())
    assert_allclose(ends["flow"].coef_, ends["newton"].coef_, rtol=1e-5)


def test_shrinkage_fades_with_the_number_of_tasks():
    for n_tasks, share in [(20, 0.3), (2000, 0.01)]:
        X, y = make_stump_tasks(n_tasks, 10, label_noise=0.1, random_state=17)
        plain, drawn = (
            PretrainedAttentionStump(GibbsHead(shrinkage=s)).fit(X, y) for s in (0, 8)
        )
        centre = np.array([0.7, 1.0])
        assert np.linalg.norm(drawn.coef_ - centre) < np.linalg.norm(
            plain.coef_ - centre
        )
        # The loss itself, which is reported, is least without.
        assert 0 <= drawn.loss_ / plain.loss_ - 1 < share


def test_shrinkage_is_the_documented_loss():
    X, y = make_stump_tasks(15, 8, label_noise=0.1, random_state=18)
    head = GibbsHead(shrinkage=3.0)
    stump = PretrainedAttentionStump(head, feature_range=(0, 1)).fit(X, y)
    lam, kap = stump.coef_
    s = 3.0 * (np.log(lam / 0.7) ** 2 + (kap - 1) ** 2)
    assert_allclose(stump.path_.loss[-1], stump.loss_ * np.exp(s / 15), rtol=1e-12)
    assert_allclose(stump.loss_, np.mean((stump.predict(X) - y) ** 2), rtol=1e-12)


def test_penalty_by_finite_differences():
    head, h = GibbsHead(shrinkage=1.7), 1e-6
    for coef in np.array([[0.2, 0.4], [0.7, 1.0], [5.0, 2.0]]):
        here = head.penalty(coef)
        for k, step in enumerate(np.eye(2) * h):
            ahead, behind = head.penalty(coef + step), head.penalty(coef - step)
            slope = (ahead.value - behind.value) / (2 * h)
            assert_allclose(here.gradient[k], slope, atol=1e-7)
            slope = (ahead.gradient - behind.gradient) / (2 * h)
            assert_allclose(here.hessian[k], slope, atol=1e-6)


def test_corpus_prior_reaches_a_lower_error_where_thresholds_cluster():
    X, y = make_stump_tasks(
        300, 6, label_noise=0.2, threshold_range=(0.6, 0.7), random_state=19
    )
    losses = {
        prior: PretrainedAttentionStump(GibbsHead(prior), feature_range=(0, 1)).fit(
            X[:150], y[:150]
        )
        for prior in ("uniform", "corpus")
    }
    error = {
        prior: np.abs(stump.predict(X[150:]) - y[150:]).mean()
        for prior, stump in losses.items()
    }
    assert error["corpus"] < 0.4 * error["uniform"]
    assert error["corpus"] < 1.05 * np.abs(y[150:] - 0.65).mean()


def test_task_weight_is_replication():
    X, y = make_stump_tasks(20, 8, label_noise=0.1, random_state=20)
    times = np.random.default_rng(21).integers(0, 4, 20)
    head = GibbsHead("corpus")
    weighted = PretrainedAttentionStump(head, feature_range=(0, 1)).fit(
        X, y, sample_weight=times
    )
    copied = np.repeat(np.arange(20), times)
    replicated = PretrainedAttentionStump(head, feature_range=(0, 1)).fit(
        X[copied], y[copied]
    )
    assert_allclose(weighted.coef_, replicated.coef_, rtol=1e-6)
    # What is minimized is flat there, so that it agrees to the square of that.
    assert_allclose(weighted.path_.loss[-1], replicated.path_.loss[-1], rtol=1e-11)


# Search.


def test_grid_search_over_the_head():
    X, y = make_stump_tasks(
        80, 6, label_noise=0.2, threshold_range=(0.6, 0.7), random_state=22
    )
    grid = {
        "head__prior": ["uniform", "corpus"],
        "head__uniform_share": [0.02, 0.9],
        "head__bandwidth": [0.5, 1.0],
    }
    search = GridSearchCV(
        PretrainedAttentionStump(GibbsHead(), feature_range=(0, 1)),
        grid,
        scoring="neg_mean_absolute_error",
        cv=4,
    ).fit(X, y)
    assert search.best_params_["head__prior"] == "corpus"
    assert search.best_params_["head__uniform_share"] == 0.02
    assert search.best_estimator_.head_.prior_.density.max() > 5
    scores = search.cv_results_["mean_test_score"]
    uniform = search.cv_results_["param_head__prior"] == "uniform"
    # What shapes the corpus prior does not touch the uniform one.
    assert len(np.unique(scores[uniform])) == 1
    assert len(np.unique(scores[~uniform])) == 4


def test_loss_of_the_pack_is_the_estimators():
    X, y = make_stump_tasks(30, 8, label_noise=0.1, random_state=23)
    stump = PretrainedAttentionStump("gibbs", feature_range=(0, 1)).fit(X, y)
    loss = CorpusLoss(GibbsHead().pack(X), y)
    assert_allclose(loss.evaluate(stump.coef_, 0).loss, stump.loss_, rtol=1e-12)
