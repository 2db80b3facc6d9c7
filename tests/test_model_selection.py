"""Life among scikit-learn's searches, pipelines and other meta-estimators."""

import copy
from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.heads import GibbsHead

short = partial(
    PretrainedAttentionStump, solver="gd", step_size=300.0, max_iter=15, tol=0
)


class TestModelSelection:
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_grid_search(self, corpus, fresh):
        X, y = corpus
        grid = {
            "head": ["single", "reflected", "gibbs"],
            "anchors": [False, True],
            "solver": ["newton", "flow"],
            "init_scale": [5.0, 10.0],
        }
        search = GridSearchCV(
            PretrainedAttentionStump(feature_range=(0, 1), horizon=1e4, max_iter=60),
            grid,
            cv=KFold(2),
            error_score="raise",
        )
        search.fit(X, y)
        assert len(search.cv_results_["params"]) == 24
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_params_["head"] != "single"
        best = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
        np.testing.assert_array_equal(search.predict(fresh), best.predict(fresh))

    def test_settings_of_a_head(self, corpus):
        search = GridSearchCV(
            short(GibbsHead(), feature_range=(0, 1)),
            {"head__prior": ["uniform", "corpus"], "head__bandwidth": [0.5, 1.0]},
            cv=KFold(2),
            error_score="raise",
        )
        search.fit(*corpus)
        assert np.ptp(search.cv_results_["mean_test_score"]) > 0

    def test_groups(self, corpus):
        X, y = corpus
        groups = np.arange(len(y)) % 4
        results = cross_validate(
            short(feature_range=(0, 1)),
            X,
            y,
            groups=groups,
            cv=GroupKFold(4),
            return_estimator=True,
            error_score="raise",
        )
        assert len(set(map(tuple, (e.coef_ for e in results["estimator"])))) == 4

    def test_in_parallel(self, corpus):
        X, y = corpus
        validate = partial(
            cross_validate, short(feature_range=(0, 1)), X, y, cv=3, error_score="raise"
        )
        np.testing.assert_array_equal(
            validate(n_jobs=2)["test_score"], validate()["test_score"]
        )

    def test_weights_are_routed(self, corpus):
        X, y = corpus
        weights = np.linspace(0.1, 2, len(y))
        folds = KFold(2)
        with sklearn.config_context(enable_metadata_routing=True):
            estimator = (
                short(feature_range=(0, 1))
                .set_fit_request(sample_weight=True)
                .set_score_request(sample_weight=True)
            )
            pipeline = make_pipeline(FunctionTransformer(), estimator)
            scores = [
                cross_validate(
                    model,
                    X,
                    y,
                    cv=folds,
                    params={"sample_weight": weights},
                    error_score="raise",
                )["test_score"]
                for model in (estimator, pipeline)
            ]
        expected = [
            short(feature_range=(0, 1))
            .fit(X[train], y[train], sample_weight=weights[train])
            .score(X[test], y[test], sample_weight=weights[test])
            for train, test in folds.split(X)
        ]
        np.testing.assert_array_equal(scores, [expected] * 2)

    def test_weights_are_not_routed_unasked(self, corpus):
        X, y = corpus
        with sklearn.config_context(enable_metadata_routing=True):
            with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
                make_pipeline(short()).fit(X, y, sample_weight=np.ones(len(y)))


class TestComposition:
    def test_a_pipeline_in_log_units(self, corpus, fresh):
        """A transformer of contexts and one of thresholds: all is learned in logs."""
        X, y = corpus

        def log(contexts):
            return contexts.with_values(np.log(contexts.values))

        model = TransformedTargetRegressor(
            make_pipeline(FunctionTransformer(log), short()),
            func=np.log,
            inverse_func=np.exp,
        )
        inner = short().fit(log(X), np.log(y))
        expected = np.exp(inner.predict(log(fresh)))
        np.testing.assert_array_equal(model.fit(X, y).predict(fresh), expected)
        outer = short().fit(X, y).predict(fresh)
        assert np.abs(expected - outer).max() > 1e-3

    def test_frozen(self, corpus, fresh):
        X, y = corpus
        estimator = short().fit(X, y)
        expected = estimator.predict(fresh)
        frozen = FrozenEstimator(estimator)
        frozen.fit(X[:3], y[:3])
        np.testing.assert_array_equal(frozen.predict(fresh), expected)
        np.testing.assert_array_equal(clone(frozen).predict(fresh), expected)
        pipeline = make_pipeline(FunctionTransformer(), frozen).fit(X[:3], y[:3])
        np.testing.assert_array_equal(pipeline.predict(fresh), expected)

    def test_a_copy_is_independent(self, corpus, fresh):
        X, y = corpus
        estimator = short(step_size=20.0).fit(X, y)
        copied = copy.deepcopy(estimator)
        copied.fit(X, y[::-1])
        assert not np.array_equal(copied.predict(fresh), estimator.predict(fresh))

    def test_html(self, corpus):
        assert "PretrainedAttentionStump" in short().fit(*corpus)._repr_html_()
