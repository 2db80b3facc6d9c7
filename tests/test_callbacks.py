"""Progress: what scikit-learn's callbacks see of a fit, and what they may do to it."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import NotFittedError

from sklearn_attnstump import PretrainedAttentionStump

short = partial(
    PretrainedAttentionStump, solver="gd", step_size=300.0, max_iter=15, tol=0
)


class Recorder:
    """A callback that keeps what it sees, and may stop, interrupt or fail."""

    def __init__(self, *, stop_at=None, error=None):
        self.stop_at, self.error = stop_at, error
        self.seen, self.calls, self.metadata = [], [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append("begin")

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append("end")
        self.metadata.append(metadata)
        self.seen.append(
            (context.task_name, fitted_estimator, fitted_estimator.predict(X))
        )
        if len(self.seen) == self.stop_at:
            if self.error is not None:
                raise self.error
            return True
        return False


class TestCallbacks:
    def test_hear_of_every_iteration(self, corpus):
        X, y = corpus
        recorder = Recorder()
        estimator = short(max_iter=7).set_callbacks(recorder).fit(X, y)
        names = [name for name, _, _ in recorder.seen]
        assert names == ["gd iteration"] * 7 + ["fit"]
        coef = [seen.coef_ for _, seen, _ in recorder.seen]
        np.testing.assert_array_equal(coef[:7], estimator.path_.coef[1:])
        np.testing.assert_array_equal(recorder.seen[-1][2], estimator.predict(X))
        assert recorder.calls[0] == "setup"
        assert recorder.calls[-1] == "teardown"
        assert recorder.calls.count("begin") == recorder.calls.count("end") == 8

    @pytest.mark.parametrize("solver", ["newton", "flow"])
    def test_of_every_solver(self, corpus, solver):
        recorder = Recorder()
        estimator = PretrainedAttentionStump("reflected", solver=solver)
        estimator.set_callbacks(recorder).fit(*corpus)
        assert len(recorder.seen) == estimator.n_iter_ + 1
        losses = [np.mean((seen - corpus[1]) ** 2) for _, _, seen in recorder.seen]
        assert losses[-1] < losses[0]

    @pytest.mark.parametrize("head", ["single", "gibbs"])
    @pytest.mark.parametrize(
        ("max_iter", "reports"),
        [(0, 0), (1, 1), (99, 99), (100, 100), (101, 50), (150, 75), (250, 83)],
    )
    def test_hear_of_at_most_a_hundred_steps(self, corpus, head, max_iter, reports):
        X, y = corpus
        recorder = Recorder()
        estimator = short(head, max_iter=max_iter, step_size=1.0)
        estimator.set_callbacks(recorder).fit(X[:3], y[:3])
        assert estimator.n_iter_ == max_iter
        assert len(recorder.seen) == reports + 1

    def test_the_intermediate_estimator_is_that_of_fewer_steps(self, corpus, fresh):
        X, y = corpus
        recorder = Recorder()
        short().set_callbacks(recorder).fit(X, y)
        np.testing.assert_array_equal(
            recorder.seen[4][1].predict(fresh),
            short(max_iter=5).fit(X, y).predict(fresh),
        )

    @pytest.mark.parametrize("solver", ["newton", "flow", "gd"])
    def test_may_stop(self, corpus, solver):
        recorder = Recorder(stop_at=3)
        estimator = PretrainedAttentionStump("reflected", solver=solver)
        estimator.set_callbacks(recorder)
        if solver == "gd":
            estimator.set_params(max_iter=50)
        estimator.fit(*corpus)
        assert estimator.n_iter_ == 3
        assert estimator.status_ == "stopped"
        assert not estimator.converged_
        np.testing.assert_array_equal(estimator.coef_, recorder.seen[2][1].coef_)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_an_interrupted_fit_leaves_the_earlier_one(self, corpus, fresh, error):
        X, y = corpus
        estimator = short().fit(X, y)
        expected, names = estimator.predict(fresh), set(vars(estimator))
        recorder = Recorder(stop_at=2, error=error("enough"))
        estimator.set_callbacks(recorder)
        with pytest.raises(error, match="enough"):
            estimator.fit(X, y[::-1])
        assert recorder.calls[-1] == "teardown"
        np.testing.assert_array_equal(estimator.predict(fresh), expected)
        estimator.set_callbacks()
        assert set(vars(estimator)) == names

    def test_an_interrupted_first_fit_leaves_nothing(self, corpus, fresh):
        estimator = short().set_callbacks(
            Recorder(stop_at=2, error=KeyboardInterrupt())
        )
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(*corpus)
        with pytest.raises(NotFittedError):
            estimator.predict(fresh)

    def test_change_nothing(self, corpus):
        plain = short().fit(*corpus)
        watched = short().set_callbacks(Recorder()).fit(*corpus)
        np.testing.assert_array_equal(watched.coef_, plain.coef_)
        assert watched.n_evaluations_ == plain.n_evaluations_

    def test_are_given_the_weights(self, corpus):
        X, y = corpus
        recorder, weights = Recorder(), np.ones(len(y))
        short(max_iter=2).set_callbacks(recorder).fit(X, y, sample_weight=weights)
        assert [data["sample_weight"] is weights for data in recorder.metadata] == [
            True
        ] * 3
        recorder = Recorder()
        short(max_iter=2).set_callbacks(recorder).fit(X, y)
        assert recorder.metadata == [None] * 3

    def test_scoring_monitor(self, corpus):
        X, y = corpus
        monitor = ScoringMonitor(scoring="r2")
        estimator = short(max_iter=4).set_callbacks(monitor).fit(X, y)
        logged = [(row["task_name"], row["r2"]) for row in monitor.get_logs().data]
        names, (whole, *steps) = zip(*logged, strict=True)
        assert names == ("fit", *["gd iteration"] * 4)
        assert whole == steps[-1] == estimator.score(X, y)
        assert steps == sorted(set(steps))

    @pytest.mark.parametrize("solver", ["newton", "flow", "gd"])
    def test_progress_is_shown_by_the_bar_alone(self, corpus, solver, capsys):
        estimator = PretrainedAttentionStump("reflected", solver=solver)
        if solver == "gd":
            estimator.set_params(max_iter=150, tol=0)
        estimator.fit(*corpus)
        assert capsys.readouterr() == ("", "")
        estimator.set_callbacks(ProgressBar()).fit(*corpus)
        shown = capsys.readouterr()
        assert "PretrainedAttentionStump - fit" in shown.out
        assert shown.err == ""

    def test_survive_clone_no_more_than_scikit_learn_says(self, corpus):
        """Callbacks are no parameters: what `clone` does with them is its business."""
        estimator = short().set_callbacks(Recorder())
        assert clone(estimator).get_params() == estimator.get_params()
