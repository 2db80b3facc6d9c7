"""`PretrainedAttentionStump`: settings, paths, warnings, starts and hard cases."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.heads import GibbsHead, ReflectedHead, SingleHead
from sklearn_attnstump.theory import certified_scale

short = partial(
    PretrainedAttentionStump, solver="gd", step_size=300.0, max_iter=15, tol=0
)

MIXED = [([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 0])]
LONE = [([0.1, 0.2, 0.3], [1, 1, 1])]
CLEAN = [([0.1, 0.2, 0.3, 0.4], [1, 1, 0, 0])]


def warned_here(record):
    """Whether every warning points at the line of the caller in this file."""
    return all(entry.filename == __file__ for entry in record)


class TestSettings:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("head", "double"),
            ("head", 3),
            ("anchors", "yes"),
            ("direction", "<"),
            ("feature", -1),
            ("feature", 0.5),
            ("feature_range", 3.0),
            ("scaling", "minmax"),
            ("solver", "lbfgs"),
            ("init_scale", 0),
            ("init_scale", np.nan),
            ("step_size", 0.0),
            ("step_size", "large"),
            ("horizon", -1),
            ("stop_scale", 0),
            ("stop_scale", "never"),
            ("max_iter", -1),
            ("max_iter", 2.5),
            ("tol", -1e-9),
            ("warm_start", None),
        ],
    )
    def test_out_of_range(self, corpus, name, value):
        message = f"The '{name}' parameter of PretrainedAttentionStump must be"
        with pytest.raises(InvalidParameterError, match=message):
            short().set_params(**{name: value}).fit(*corpus)

    @pytest.mark.parametrize(
        ("ends", "message"),
        [
            ((1, 0), r"feature_range=\(1\.0, 0\.0\) must be finite, the lower end fir"),
            ((0, 0), r"feature_range=\(0\.0, 0\.0\) must be finite"),
            ((0, np.inf), r"feature_range=\(0\.0, inf\) must be finite"),
            ((np.nan, 1), r"must be finite"),
            ((0, 1, 2), r"feature_range must be a pair of numbers, got \(0, 1, 2\)"),
            (("a", "b"), r"feature_range must be a pair of numbers"),
        ],
    )
    def test_ranges(self, corpus, ends, message):
        with pytest.raises(ValueError, match=message):
            short(feature_range=ends).fit(*corpus)
        with pytest.raises(ValueError, match=message):
            PretrainedAttentionStump.from_coef((1, 2), feature_range=ends)

    def test_a_range_may_be_an_array(self, corpus, fresh):
        X, y = corpus
        ends = np.array([0, 1])
        estimator = short(feature_range=ends).fit(X, y)
        assert estimator.feature_range_ == (0.0, 1.0)
        np.testing.assert_array_equal(
            estimator.predict(fresh),
            short(feature_range=(0, 1)).fit(X, y).predict(fresh),
        )

    def test_a_learned_range(self, corpus):
        X, y = corpus
        ends = short().fit(X, y).feature_range_
        assert ends == (min(X.values.min(), y.min()), max(X.values.max(), y.max()))
        y = [-3.0, *y[1:]]
        assert short().fit(X, y).feature_range_[0] == -3.0

    @pytest.mark.parametrize("scaling", ["context", "rank"])
    def test_no_range_where_none_is_needed(self, corpus, scaling):
        assert short(scaling=scaling).fit(*corpus).feature_range_ is None
        given = short(scaling=scaling, feature_range=(0, 2)).fit(*corpus)
        assert given.feature_range_ == (0.0, 2.0)

    def test_a_threshold_outside_the_range_names_its_task(self, corpus):
        X, y = corpus
        named = Contexts(X, task_ids=[f"t{i}" for i in range(len(X))])
        y = np.where(np.arange(len(y)) == 5, 1.5, y)
        message = r"task 5 \('t5'\) has the threshold 1\.5 outside feature_range="
        with pytest.raises(ValueError, match=message):
            short(feature_range=(0, 1)).fit(named, y)

    def test_an_observation_outside_the_range_names_its_task(self, corpus):
        X, y = corpus
        message = r"task \d+ has observations outside feature_range=\(0\.0, 0\.95\)"
        with pytest.raises(ValueError, match=message):
            short(feature_range=(0, 0.95)).fit(X, y)
        estimator = short(feature_range=(0, 1)).fit(X, y)
        with pytest.raises(ValueError, match=r"task 1 has observations outside"):
            estimator.predict([*CLEAN, ([0.1, 1.5], [1, 0])])

    @pytest.mark.parametrize("scaling", ["context", "rank"])
    def test_anchors_need_a_range(self, corpus, scaling):
        message = rf"anchors are true only of a range .* scaling='{scaling}' there is"
        with pytest.raises(ValueError, match=message):
            short(anchors=True, scaling=scaling).fit(*corpus)

    def test_newton_has_no_path_to_stop_on(self, corpus):
        with pytest.raises(
            ValueError, match=r"cannot end at a stop_scale\. Use solver"
        ):
            PretrainedAttentionStump(stop_scale=20).fit(*corpus)

    def test_certified_scale_needs_two(self):
        message = "certified scale needs at least 2 tasks of at least 2 examples"
        with pytest.raises(ValueError, match=message):
            short(stop_scale="certified").fit(CLEAN, [0.25])

    def test_validation_may_be_skipped(self, corpus, fresh):
        X, y = corpus
        expected = short(max_iter=15).fit(X, y).predict(fresh)
        with sklearn.config_context(skip_parameter_validation=True):
            # 15.0 is not an Integral, and does no harm.
            np.testing.assert_array_equal(
                short(max_iter=np.float64(15)).fit(X, y).predict(fresh), expected
            )
        with pytest.raises(InvalidParameterError, match="max_iter"):
            short(max_iter=np.float64(15)).fit(X, y)


class TestHeads:
    @pytest.mark.parametrize(
        ("name", "head"),
        [
            ("single", SingleHead()),
            ("reflected", ReflectedHead()),
            ("gibbs", GibbsHead()),
        ],
    )
    def test_by_name_or_object(self, corpus, fresh, name, head):
        X, y = corpus
        np.testing.assert_array_equal(
            short(head).fit(X, y).predict(fresh), short(name).fit(X, y).predict(fresh)
        )

    def test_name_their_coefficients(self, corpus):
        two = short("single").fit(*corpus)
        assert (two.feature_score_, two.label_score_) == tuple(two.coef_)
        gibbs = two.set_params(head="gibbs").fit(*corpus)
        assert (gibbs.disagreement_scale_, gibbs.prior_weight_) == tuple(gibbs.coef_)
        assert not hasattr(gibbs, "feature_score_")

    def test_learn_in_a_copy(self, corpus):
        head = GibbsHead(prior="corpus")
        estimator = short(head).fit(*corpus)
        assert not hasattr(head, "prior_")
        assert estimator.head is head
        assert hasattr(estimator.head_, "prior_")

    def test_have_parameters_of_the_estimator(self):
        estimator = short(GibbsHead())
        assert estimator.get_params()["head__prior"] == "uniform"
        estimator.set_params(head__prior="corpus")
        assert clone(estimator).head.prior == "corpus"

    @pytest.mark.parametrize("head", ["single", "reflected", "gibbs"])
    def test_infer_block_by_block_what_they_infer_at_once(
        self, corpus, fresh, head, monkeypatch
    ):
        estimator = short(head, scaling="context").fit(*corpus)
        expected = estimator.predict(fresh)
        for size in (1, 70):
            monkeypatch.setattr("sklearn_attnstump.inference._BLOCK", size)
            np.testing.assert_array_equal(estimator.predict(fresh), expected)

    @pytest.mark.parametrize("anchors", [False, True])
    def test_attention_adds_up(self, corpus, fresh, anchors):
        estimator = short(anchors=anchors, feature_range=(0, 1)).fit(*corpus)
        weights = estimator.attention(fresh)
        assert [len(w) for w in weights] == (fresh.sizes + 2 * anchors).tolist()
        mean = []
        for w, context in zip(weights, fresh, strict=True):
            assert (w >= 0).all()
            assert w.sum() == pytest.approx(1, rel=1e-14)
            x = context.values[:, 0]
            mean.append(w @ (np.append(x, [0, 1]) if anchors else x))
        np.testing.assert_allclose(mean, estimator.predict(fresh), rtol=1e-12)

    def test_attention_before_fit(self, fresh):
        with pytest.raises(NotFittedError):
            short().attention(fresh)


class TestPath:
    def test_constant_steps_are_counted(self, corpus):
        estimator = short(max_iter=12).fit(*corpus)
        assert estimator.n_iter_ == 12
        np.testing.assert_array_equal(estimator.path_.t, 300.0 * np.arange(13))
        assert estimator.path_.coef.shape == (13, 2)
        assert estimator.path_.coef[-1].tolist() == estimator.coef_.tolist()
        assert estimator.path_.loss[-1] == estimator.loss_
        assert estimator.status_ == "done"
        assert not estimator.converged_

    def test_starts_at_the_large_resolution(self, corpus):
        path = short(init_scale=20.0).fit(*corpus).path_
        np.testing.assert_array_equal(path.coef[0], [20, 20 + 2 * np.log(20)])

    def test_flow_ends_at_its_horizon(self, corpus):
        estimator = short(solver="flow", horizon=123.0, max_iter=None).fit(*corpus)
        assert estimator.path_.t[-1] == 123.0

    @pytest.mark.parametrize("solver", ["flow", "gd"])
    def test_stops_at_a_scale(self, corpus, solver):
        estimator = short(solver=solver, stop_scale=12.0, max_iter=1000, tol=1e-8).fit(
            *corpus
        )
        before, end = estimator.path_.coef[[-2, -1], 0]
        assert before < 12 <= end or end == pytest.approx(12, rel=1e-10)
        assert estimator.status_ == "done"

    def test_certified_scale(self, corpus):
        X, y = corpus
        estimator = short(
            solver="flow", stop_scale="certified", max_iter=None, init_scale=5.0
        ).fit(X, y)
        expected = certified_scale(40, int(X.sizes.min()))
        assert estimator.feature_score_ == pytest.approx(expected, rel=1e-9)

    def test_loss_is_the_mean_squared_error_in_unit_coordinates(self, corpus):
        X, y = corpus
        estimator = short(feature_range=(-1, 3)).fit(X, y)
        residual = (estimator.predict(X) - y) / 4
        assert estimator.loss_ == pytest.approx(np.mean(residual**2), rel=1e-12)
        weights = np.linspace(0, 1, 40)
        estimator.fit(X, y, sample_weight=weights)
        residual = (estimator.predict(X) - y) / 4
        expected = np.average(residual**2, weights=weights)
        assert estimator.loss_ == pytest.approx(expected, rel=1e-12)


class TestConvergence:
    @pytest.mark.filterwarnings("ignore:.*one label only:UserWarning")
    @pytest.mark.parametrize("solver", ["newton", "flow"])
    def test_plateau(self, solver):
        """Congruent contexts below their thresholds: only an infinite scale is best."""
        rng = np.random.RandomState(0)
        top = rng.uniform(0.4, 0.6, size=20)
        X = [(x - np.array([0.3, 0.2, 0.0]), [1, 1, 1]) for x in top]
        y = top + rng.uniform(0, 0.1, size=20)
        with pytest.warns(ConvergenceWarning, match=r"minimum lies at infinite") as got:
            estimator = PretrainedAttentionStump(solver=solver).fit(X, y)
        assert "Set stop_scale" in str(got[-1].message)
        assert [entry.category for entry in got] == [UserWarning, ConvergenceWarning]
        assert warned_here(got)
        assert estimator.status_ == "plateau"
        assert np.isfinite(estimator.coef_).all()
        np.testing.assert_allclose(estimator.predict(X), top, rtol=1e-6)

    @pytest.mark.parametrize("solver", ["newton", "flow", "gd"])
    def test_budget(self, corpus, solver):
        message = (
            rf"solver='{solver}': max_iter=2 iterations did not reach .* Raise max"
        )
        with pytest.warns(ConvergenceWarning, match=message) as got:
            estimator = PretrainedAttentionStump(solver=solver, max_iter=2).fit(*corpus)
        assert warned_here(got)
        assert estimator.n_iter_ == 2
        assert estimator.status_ == "budget"
        assert not estimator.converged_

    @pytest.mark.parametrize("head", ["single", "reflected"])
    def test_step(self, corpus, head):
        message = r"the step size 1e\+07 is too large .* Use a smaller step_size"
        with pytest.warns(ConvergenceWarning, match=message) as got:
            estimator = short(head, step_size=1e7).fit(*corpus)
        assert warned_here(got)
        assert estimator.status_ == "step"
        assert np.isfinite(estimator.coef_).all()
        assert not estimator.converged_

    def test_what_was_asked_for_is_no_failure(self, corpus):
        """The suite turns warnings into errors: these give none."""
        assert short(max_iter=0).fit(*corpus).n_iter_ == 0
        assert short().fit(*corpus).status_ == "done"
        converged = PretrainedAttentionStump("reflected").fit(*corpus)
        assert converged.converged_
        assert converged.status_ == "converged"


class TestHardContexts:
    @pytest.mark.parametrize("head", ["single", "reflected"])
    def test_one_label_alone(self, corpus, head):
        X, y = corpus
        message = (
            r"^2 of 42 contexts have one label only, .*task 40; .* use anchors=True"
        )
        with pytest.warns(UserWarning, match=message) as got:
            estimator = short(head).fit(Contexts([X, Contexts(LONE * 2)]), [*y, 0.5, 1])
        assert len(got) == 1
        assert warned_here(got)
        with pytest.warns(UserWarning, match=r"^1 of 2 contexts have one label") as got:
            estimator.predict(Contexts([*LONE, *CLEAN]))
        assert len(got) == 1
        assert warned_here(got)

    @pytest.mark.parametrize("head", ["single", "reflected"])
    def test_labels_that_no_threshold_separates(self, corpus, head):
        X, y = corpus
        message = r"^no threshold separates the labels of 1 of 41 .* is task 40\."
        both = Contexts([X, Contexts(MIXED)])
        with pytest.warns(UserWarning, match=message) as got:
            estimator = short(head).fit(both, [*y, 0.25])
        assert len(got) == 1
        assert warned_here(got)
        assert "gibbs" in str(got[0].message)
        with pytest.warns(UserWarning, match=r"1 of 2 contexts .*task 1\.") as got:
            estimator.predict([*CLEAN, *MIXED])
        assert len(got) == 1
        assert warned_here(got)

    def test_a_tie_is_not_separable(self, corpus):
        estimator = short().fit(*corpus)
        with pytest.warns(UserWarning, match="no threshold separates"):
            estimator.predict([([0.1, 0.3, 0.3], [1, 1, 0])])

    def test_tokens_of_no_weight_make_nothing_hard(self, corpus):
        estimator = short().fit(*corpus)
        x, labels = MIXED[0]
        prediction = estimator.predict([(x, labels, [1, 1, 0, 1])])
        assert np.isfinite(prediction).all()
        with pytest.warns(UserWarning, match="one label only"):
            estimator.predict([(x, labels, [1, 0, 1, 0])])

    def test_anchors_give_every_context_both_labels(self, corpus):
        estimator = short(anchors=True).fit(*corpus)
        assert np.isfinite(estimator.predict([*LONE, *CLEAN])).all()

    def test_the_gibbs_head_takes_all_in_silence(self, corpus):
        estimator = short("gibbs").fit(*corpus)
        assert np.isfinite(estimator.predict([*LONE, *CLEAN, *MIXED])).all()

    def test_the_wrong_direction_shows(self, corpus):
        with pytest.warns(UserWarning) as got:
            short(direction=">=", max_iter=0).fit(*corpus)
        said = " ".join(str(warning.message) for warning in got)
        assert "only 0% of the labels lie on the side" in said
        assert "no threshold separates the labels of 40 of 40" in said

    def test_outside_the_learned_range(self, corpus):
        estimator = short().fit(*corpus)
        inside = estimator.predict(CLEAN)
        message = r"^1 of 2 contexts have observations outside the range .*task 1\."
        with pytest.warns(UserWarning, match=message) as got:
            both = estimator.predict([*CLEAN, ([0.5, 7.0], [1, 0])])
        assert len(got) == 1
        assert warned_here(got)
        assert both[0] == inside[0]
        with pytest.warns(UserWarning, match="outside the range") as got:
            estimator.attention([([0.5, 7.0], [1, 0])])
        assert warned_here(got)


class TestDirection:
    def test_auto_takes_what_the_corpus_shows(self, corpus, fresh):
        X, y = corpus
        auto = short(direction="auto").fit(X, y)
        assert auto.direction_ == "<="
        np.testing.assert_array_equal(
            auto.predict(fresh), short(direction="<=").fit(X, y).predict(fresh)
        )
        flipped = Contexts.from_arrays(X.values, ~X.labels, X.offsets)
        auto.fit(flipped, y)
        assert auto.direction_ == ">="
        assert auto.direction == "auto"

    def test_auto_counts_tasks_by_weight(self):
        X = [([0.1, 0.3, 0.5], [1, 1, 0]), ([0.2, 0.4, 0.6], [0, 0, 1])]
        for weights, direction in (([2, 1], "<="), ([1, 2], ">=")):
            estimator = short("gibbs", direction="auto", max_iter=0)
            estimator.fit(X, [0.4, 0.5], sample_weight=weights)
            assert estimator.direction_ == direction

    def test_auto_withstands_noise(self):
        X, y = make_stump_tasks(50, 40, label_noise=0.3, direction=">=", random_state=0)
        assert (
            short("gibbs", direction="auto", step_size=1.0).fit(X, y).direction_ == ">="
        )

    @pytest.mark.parametrize("direction", ["<=", ">="])
    def test_an_observation_at_the_threshold_has_label_1(self, direction):
        """Both directions put a threshold that is seen on the side of label 1."""
        X, _ = make_stump_tasks(
            60, 30, threshold_range=(0.2, 0.8), direction=direction, random_state=0
        )
        estimator = PretrainedAttentionStump.from_coef(
            (1e6, 1e6), direction=direction, feature_range=(0, 1)
        )
        for context, prediction in zip(X, estimator.predict(X), strict=True):
            x = context.values[:, 0]
            side = x <= prediction if direction == "<=" else x >= prediction
            np.testing.assert_array_equal(side, context.labels)


class TestFromCoef:
    @pytest.mark.parametrize("head", ["single", "reflected", "gibbs"])
    @pytest.mark.parametrize(
        "settings",
        [
            {"feature_range": (0, 1)},
            {"feature_range": (-1, 2), "anchors": True},
            {"scaling": "context"},
            {"scaling": "rank"},
        ],
    )
    def test_equals_a_fitted_one(self, corpus, fresh, head, settings):
        fitted = short(head, **settings).fit(*corpus)
        frozen = PretrainedAttentionStump.from_coef(fitted.coef_, head, **settings)
        np.testing.assert_array_equal(frozen.predict(fresh), fitted.predict(fresh))
        assert (frozen.coef_ == fitted.coef_).all()
        assert frozen.direction_ == "<="
        assert clone(frozen).get_params() == frozen.get_params()

    def test_copies_its_argument(self):
        coef = np.array([5.0, 6.0])
        frozen = PretrainedAttentionStump.from_coef(coef, scaling="rank")
        coef[0] = 0
        assert frozen.coef_.tolist() == [5, 6]

    def test_another_feature(self, fresh):
        junk = np.zeros(fresh.n_tokens)
        two = fresh.with_values(np.column_stack([junk, fresh.values[:, 0]]))
        make = partial(PretrainedAttentionStump.from_coef, (9, 9), scaling="rank")
        np.testing.assert_array_equal(
            make(feature=1).predict(two), make().predict(fresh)
        )
        with pytest.raises(ValueError, match="feature=1 is not among the 1"):
            make(feature=1).predict(fresh)

    @pytest.mark.parametrize(
        ("coef", "settings", "message"),
        [
            ((1,), {}, r"coef must be two finite numbers, got \(1,\)"),
            ((1, np.nan), {}, r"coef must be two finite numbers"),
            ((1, np.inf), {}, r"coef must be two finite numbers"),
            ([[1, 2]], {}, r"coef must be two finite numbers"),
            ((1, 2), {"direction": "auto"}, r"direction='auto' needs a corpus"),
            ((1, 2), {"feature": "x"}, r"a feature's name needs a corpus"),
            ((1, 2), {"feature_range": None}, r"range cannot be learned without a cor"),
            (
                (1, 2),
                {"feature_range": None, "scaling": "context", "anchors": True},
                r"anchors are true only of a range",
            ),
            ((1, 2), {"head": "double"}, r"The 'head' parameter"),
        ],
    )
    def test_refused(self, coef, settings, message):
        with pytest.raises(ValueError, match=message):
            PretrainedAttentionStump.from_coef(
                coef, **{"feature_range": (0, 1), **settings}
            )

    def test_may_be_fitted_afterwards(self, corpus, fresh):
        X, y = corpus
        frozen = PretrainedAttentionStump.from_coef((5, 6), feature_range=(0, 1))
        frozen.set_params(**short(feature_range=(0, 1)).get_params()).fit(X, y)
        np.testing.assert_array_equal(
            frozen.predict(fresh), short(feature_range=(0, 1)).fit(X, y).predict(fresh)
        )


class TestWarmStart:
    def test_goes_on_where_it_stopped(self, corpus):
        whole = short(max_iter=20).fit(*corpus)
        parts = short(max_iter=8, warm_start=True).fit(*corpus)
        parts.set_params(max_iter=12).fit(*corpus)
        np.testing.assert_array_equal(parts.coef_, whole.coef_)

    def test_only_if_asked(self, corpus):
        estimator = short().fit(*corpus)
        coef = estimator.coef_
        np.testing.assert_array_equal(estimator.fit(*corpus).coef_, coef)

    def test_does_not_change_the_earlier_coefficients(self, corpus):
        estimator = short(warm_start=True).fit(*corpus)
        earlier, kept = estimator.coef_, estimator.coef_.copy()
        estimator.fit(*corpus)
        np.testing.assert_array_equal(earlier, kept)

    def test_from_known_coefficients(self, corpus):
        frozen = PretrainedAttentionStump.from_coef((15, 16), feature_range=(0, 1))
        frozen.set_params(**short(feature_range=(0, 1), warm_start=True).get_params())
        assert frozen.fit(*corpus).path_.coef[0].tolist() == [15, 16]


class TestDegenerate:
    def test_contexts_of_one_token_in_their_own_range(self):
        """They say nothing of their threshold, in whatever units."""
        X, y = make_stump_tasks(30, (1, 20), threshold_range=(0.2, 0.8), random_state=0)
        assert (X.sizes == 1).any()
        fits = []
        for factor in (1.0, 1024.0):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fits.append(
                    short(scaling="context").fit(
                        X.with_values(factor * X.values), factor * y
                    )
                )
        assert fits[0].loss_ == fits[1].loss_
        np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)

    def test_equal_observations_are_their_own_answer(self, corpus):
        estimator = short(scaling="context").fit(*corpus)
        with pytest.warns(UserWarning, match="no threshold separates"):
            assert estimator.predict([([0.3, 0.3], [1, 0])]).tolist() == [0.3]

    def test_a_corpus_of_one_point(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = short().fit([([0.5], [1])] * 2, [0.5, 0.5])
            assert estimator.predict([([0.5], [1])]).tolist() == [0.5]
        assert np.isfinite(estimator.coef_).all()

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("scaling", ["range", "context", "rank"])
    @pytest.mark.parametrize("head", ["single", "reflected", "gibbs"])
    def test_the_largest_numbers(self, head, scaling):
        x = np.array([-1.7e308, -1e308, 1e308, 1.7e308])
        X = [(x, [1, 1, 0, 0]), (x, [1, 0, 0, 0])]
        estimator = PretrainedAttentionStump(head, scaling=scaling)
        estimator.fit(X, [0.0, -1.2e308])
        prediction = estimator.predict(X)
        assert np.isfinite(prediction).all()
        assert prediction[0] > prediction[1]


def test_settings_of_a_head_need_the_head():
    with pytest.raises(ValueError, match=r"head__prior.*head='gibbs'.*GibbsHead\(\)"):
        PretrainedAttentionStump("gibbs").set_params(head__prior="corpus")
    stump = PretrainedAttentionStump("gibbs")
    assert stump.set_params(head=GibbsHead(), head__prior="corpus") is stump
    assert stump.head.prior == "corpus"


def test_a_series_in_another_order_is_refused():
    items = [([0.1, 0.4, 0.9], [1, 1, 0]), ([0.1, 0.5, 0.8], [1, 0, 0])] * 3
    contexts = Contexts(items, task_ids=list("abcdef"))
    y = pd.Series(np.linspace(0.2, 0.6, 6), list("abcdef"))
    stump = PretrainedAttentionStump("gibbs")
    with pytest.raises(ValueError, match=r"'a'\) stands beside the threshold of 'f'"):
        stump.fit(contexts, y[::-1])
    with pytest.raises(ValueError, match=r"contexts\.align\(y\)"):
        stump.fit(contexts, y).conformalize(contexts, y[::-1])
    numbered = y.set_axis(range(6))[::-1]  # of a frame that was sorted: no names
    assert stump.fit(Contexts(items), numbered).n_iter_ > 0


@pytest.mark.parametrize("pair", [("Yes", "yes"), ("No", "yes"), ("nein", "ja")])
def test_another_spelling_of_the_labels_is_refused(pair):
    def contexts(no, yes):
        items = [([0.1, 0.4, 0.9], [yes, yes, no]), ([0.1, 0.5, 0.8], [yes, no, no])]
        return Contexts(items, positive=yes)

    stump = PretrainedAttentionStump("gibbs").fit(contexts("no", "yes"), [0.6, 0.3])
    with pytest.raises(ValueError, match="Spell labels as at fit"):
        stump.predict(contexts(*pair))
    expected = stump.predict(contexts("no", "yes"))
    np.testing.assert_array_equal(stump.predict(contexts(0, 1)), expected)
