"""The same input gives the same output, whatever happens around it.

In other processes, with other hash seeds and numbers of threads; after an interruption,
or a warning that was turned into an error; and in two threads at once.
"""

import copy
import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sklearn_attnstump.estimators as estimators
from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump, baselines
from sklearn_attnstump.classifier import AttentionStumpClassifier
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.head import Head
from sklearn_attnstump.scaling import Scaling
from sklearn_attnstump.softmax import SingleHead

# Fits and predicts with everything, and writes a digest of each result.
PROBE = """
import hashlib
import json
import sys
import warnings

import numpy as np
import pandas as pd

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump import baselines
from sklearn_attnstump.classifier import AttentionStumpClassifier
from sklearn_attnstump.datasets import make_stump_tasks

warnings.simplefilter("ignore")
X, y = make_stump_tasks(150, (5, 60), label_noise=0.1, random_state=0)
frame = pd.DataFrame({"x": X.values[:, 0], "label": np.where(X.labels, "yes", "no")})
frame["task"] = [f"patient {t}" for t in np.repeat(np.arange(len(X)), X.sizes)]
named = Contexts.from_frame(frame, task="task", feature="x", label="label")

found = {}
makers = {
    f"{head} {solver}": PretrainedAttentionStump(head, solver=solver, max_iter=60)
    for head in ("single", "reflected", "gibbs") for solver in ("newton", "flow", "gd")
}
makers["corpus rank"] = PretrainedAttentionStump(GibbsHead("corpus"), scaling="rank")
makers |= {name: getattr(baselines, name)() for name in baselines.__all__}
for name, estimator in makers.items():
    estimator.fit(named, y)
    parts = [estimator.predict(named)]
    if hasattr(estimator, "coef_"):
        parts += [estimator.coef_, estimator.path_.loss, *estimator.attention(named)]
        parts += [estimator.conformalize(named, y).predict_interval(named)]
    found[name] = parts
rng = np.random.default_rng(0)
table = rng.normal(size=(400, 6))
classes = np.digitize(table[:, 2] + rng.normal(size=400), [-0.5, 0.5])
words = np.array(["low", "middle", "high"])[classes]
model = AttentionStumpClassifier(max_features=3, random_state=1).fit(table, words)
found["classifier"] = [model.threshold_, model.value_, model.predict_proba(table)]
digests = {
    name: hashlib.sha256(b"".join(np.asarray(p).tobytes() for p in parts)).hexdigest()
    for name, parts in found.items()
}
sys.stdout.write(json.dumps(digests))
"""


def run_probe(hash_seed, n_threads):
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(n_threads)
    )
    run = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, **threads, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_processes_hash_seeds_and_threads_agree():
    """Bit for bit: coefficients, paths, attention, intervals, predictions."""
    plain = run_probe(0, 1)
    assert len(plain) == 17
    assert run_probe(0, 1) == plain
    assert run_probe(12345, 2) == plain


short = partial(
    PretrainedAttentionStump, solver="gd", step_size=30.0, max_iter=5, tol=0
)


def state_of(estimator):
    """All attributes, copied, with arrays as bytes."""
    return {name: repr(_plain(value)) for name, value in vars(estimator).items()}


def _plain(value):
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return vars(value) if isinstance(value, Head) else value


# Where fit can be interrupted: a function that it calls, early, midway or at the end.
PLACES = [
    (Contexts, "__init__"),
    (Scaling, "apply"),
    (SingleHead, "pack"),
    (estimators.CorpusLoss, "evaluate"),
    (estimators, "diagnose"),
    (estimators, "_result_attributes"),
]


@pytest.mark.parametrize("fitted", [False, True], ids=["unfitted", "fitted"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("owner", "name"), PLACES, ids=[f"{o.__name__}.{n}" for o, n in PLACES]
)
def test_ctrl_c_leaves_the_estimator_as_it_was(
    owner, name, n_jobs, fitted, corpus, fresh, monkeypatch
):
    stump = short(n_jobs=n_jobs)
    if fitted:
        expected = stump.fit(*corpus).predict(fresh)
    before = state_of(stump)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            stump.fit(corpus[0][:20], corpus[1][:20] / 2)
    assert state_of(stump) == before
    if fitted:
        np.testing.assert_array_equal(stump.predict(fresh), expected)
    assert state_of(stump.fit(*corpus)) == state_of(short(n_jobs=n_jobs).fit(*corpus))


@pytest.mark.parametrize("solver", ["gd", "flow", "newton"])
def test_ctrl_c_midway_through_a_solver(solver, corpus, fresh, monkeypatch):
    """The tenth evaluation of the loss is never answered."""
    stump = short().fit(*corpus)
    expected, before = stump.predict(fresh), None
    stump.set_params(solver=solver, max_iter=50, tol=1e-8, step_size="auto")
    before = state_of(stump)
    evaluate, calls = estimators.CorpusLoss.evaluate, []

    def interrupt(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(estimators.CorpusLoss, "evaluate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stump.fit(corpus[0], corpus[1] / 2)
    assert state_of(stump) == before
    np.testing.assert_array_equal(stump.predict(fresh), expected)


INTERRUPTED = """
import os
import signal
import sys
import threading
import time

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks

X, y = make_stump_tasks(100, 50, threshold_range=(0.2, 0.8), random_state=0)
stump = PretrainedAttentionStump("gibbs").fit(X, y)
expected, coef = stump.predict(X).tolist(), stump.coef_.tolist()
stump.set_params(solver="gd", max_iter=10**9, tol=0, step_size=1e-9, n_jobs=N_JOBS)


def press():
    time.sleep(0.4)
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=press).start()
try:
    stump.fit(X, y)
except KeyboardInterrupt:
    same = stump.predict(X).tolist() == expected and stump.coef_.tolist() == coef
    sys.stdout.write("as before" if same else "changed")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send oneself")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_real_ctrl_c(n_jobs):
    """The signal, in the middle of a fit that would take hours."""
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.replace("N_JOBS", str(n_jobs))],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[1],
    )
    assert run.stdout == "as before", run.stderr


def hard(corpus):
    """A corpus that warns of stray labels."""
    contexts, thresholds = corpus
    labels = contexts.labels.copy()
    labels[::7] ^= True
    return Contexts.from_arrays(contexts.values, labels, contexts.offsets), thresholds


@pytest.mark.parametrize(
    ("change", "category", "spoil"),
    [
        ({"max_iter": 1, "tol": 1e-8}, ConvergenceWarning, None),
        ({"solver": "gd", "step_size": 1e9, "max_iter": 9}, ConvergenceWarning, None),
        ({}, UserWarning, hard),
    ],
    ids=["budget", "step", "stray labels"],
)
def test_a_warning_as_error_leaves_the_estimator(
    change, category, spoil, corpus, fresh
):
    stump = short().fit(*corpus)
    expected = stump.predict(fresh)
    stump.set_params(**change)
    before = state_of(stump)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(category):
            stump.fit(*(spoil(corpus) if spoil else corpus))
    assert state_of(stump) == before
    np.testing.assert_array_equal(stump.predict(fresh), expected)


def test_a_warning_as_error_at_predict_changes_nothing(corpus, fresh):
    stump = short().fit(*corpus)
    before = state_of(stump)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="outside the range"):
            stump.predict(fresh.with_values(fresh.values * 3))
        with pytest.raises(UserWarning, match="one label only"):
            stump.conformalize(*corpus).predict([([0.4, 0.5], [1, 1])])
    assert state_of(stump).keys() - before.keys() == {"conformity_scores_"}


def test_an_interrupted_conformalize_keeps_the_scores(corpus, monkeypatch):
    stump = short("gibbs").fit(*corpus).conformalize(*corpus)
    before = state_of(stump)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(GibbsHead, "pack", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stump.conformalize(corpus[0][:5], corpus[1][:5])
    assert state_of(stump) == before


BASELINES = [getattr(baselines, name) for name in baselines.__all__]


@pytest.mark.parametrize(
    "make",
    [
        *(partial(short, head) for head in ("single", "reflected", "gibbs")),
        partial(short, GibbsHead("corpus"), scaling="rank"),
        *BASELINES,
    ],
)
def test_two_threads_with_one_estimator_agree(make, corpus):
    """Each predicts its own contexts, over and over, from the same fitted object."""
    estimator = make().fit(*corpus)
    parts = [
        make_stump_tasks(30, (10, 40), threshold_range=(0.3, 0.7), random_state=seed)
        for seed in (5, 6)
    ]
    parts = [
        (contexts.with_values(contexts.values * 0.9 + 0.05)) for contexts, _ in parts
    ]
    alone = [estimator.predict(part) for part in parts]
    before = copy.deepcopy(vars(estimator))
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(estimator.predict, parts[k % 2]) for k in range(40)]
        for k, job in enumerate(jobs):
            np.testing.assert_array_equal(job.result(), alone[k % 2])
    assert vars(estimator).keys() == before.keys()


def test_two_threads_with_one_classifier_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = AttentionStumpClassifier().fit(X, X[:, 1] > 0)
    alone = model.predict_proba(X)
    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(model.predict_proba, X) for _ in range(40)]:
            np.testing.assert_array_equal(job.result(), alone)


def test_two_threads_fit_clones_at_once(corpus):
    """No state is shared between estimators."""
    alone = short().fit(*corpus).coef_.tolist()
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(short().fit, *corpus) for _ in range(10)]
        assert all(job.result().coef_.tolist() == alone for job in jobs)
