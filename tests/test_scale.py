"""Workers, clusters, corpora larger than memory, and what memory is used."""

import os
import signal
import subprocess
import sys
import tracemalloc
from unittest import mock

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.packs import BlockedPack, ScatteredPack

HEADS = ("single", "reflected", "gibbs")
MIB = 2**20

# Solvers end early here, on purpose.
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:.*(one label only|no threshold separates):UserWarning",
)


def stump(head, **settings):
    return PretrainedAttentionStump(head, feature_range=(0, 1), **settings)


def assert_same_fit(one, other):
    """Equal bit for bit, the whole way."""
    assert_array_equal(one.coef_, other.coef_)
    assert (one.loss_, one.n_iter_) == (other.loss_, other.n_iter_)
    assert one.n_evaluations_ == other.n_evaluations_
    assert_array_equal(one.path_.coef, other.path_.coef)
    assert_array_equal(one.path_.loss, other.path_.loss)


def flat_corpus(n_tasks, n_examples, seed=0):
    """Values, labels, offsets and thresholds; made in pieces for one huge context."""
    rng = np.random.default_rng(seed)
    thresholds = rng.uniform(0.2, 0.8, n_tasks)
    values = rng.random(n_tasks * n_examples)
    labels = values <= np.repeat(thresholds, n_examples)
    return values, labels, n_examples * np.arange(n_tasks + 1), thresholds


# Workers and blocks.


@pytest.fixture(scope="module")
def ragged():
    """Contexts of 2 to 3000 tokens, with weights and labels of which some are wrong."""
    X, y = make_stump_tasks(60, (2, 300), label_noise=0.02, random_state=3)
    long, z = make_stump_tasks(3, (1000, 3000), random_state=4)
    X = Contexts([X, long])
    weights = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 1e6], X.n_tokens)
    weights[X.offsets[:-1]] = 1.0
    weighty = Contexts.from_arrays(X.values, X.labels, X.offsets, weights=weights)
    return X, weighty, np.concatenate([y, z])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("solver", "max_iter"), [("newton", 10), ("flow", 10), ("gd", 8)]
)
@pytest.mark.parametrize("head", HEADS)
def test_workers_and_blocks_change_no_bit(
    head, solver, max_iter, weighted, ragged, monkeypatch
):
    X, y = ragged[weighted], ragged[2]

    def fit(n_jobs=None):
        made = stump(head, solver=solver, max_iter=max_iter, n_jobs=n_jobs)
        made.fit(X, y)
        return made, made.predict(X, return_std=head == "gibbs")

    alone, inferred = fit()
    cases = [(n_jobs, 1 << 18, 1 << 16) for n_jobs in (1, 2, 3, -1)]
    for n_jobs, of_fit, of_predict in [*cases, (None, 300, 1), (None, 999, 99)]:
        monkeypatch.setattr("sklearn_attnstump.packs._BLOCK", of_fit)
        monkeypatch.setattr("sklearn_attnstump.inference._BLOCK", of_predict)
        other, again = fit(n_jobs)
        assert_same_fit(other, alone)
        assert_array_equal(again, inferred)


def test_processes_change_no_bit(ragged):
    X, _, y = ragged
    alone = stump("reflected", max_iter=3).fit(X, y)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        apart = stump("reflected", max_iter=3).fit(X, y)
        assert_array_equal(apart.predict(X), alone.predict(X))
    assert_same_fit(apart, alone)


# Corpora larger than memory.

ALLOWANCE = 16 * MIB

LARGER_THAN_MEMORY = """
import re, resource, sys, warnings
from pathlib import Path
import numpy as np
from sklearn_attnstump import Contexts, PretrainedAttentionStump, packs

packs._BLOCK = 1 << 16  # so that a small file shows it
warnings.simplefilter("ignore")
folder, allowance = Path(sys.argv[1]), int(sys.argv[2])
values, labels, weights = (
    np.load(folder / f"{name}.npy", mmap_mode="r")
    for name in ("values", "labels", "weights")
)
offsets, y = np.load(folder / "offsets.npy"), np.load(folder / "y.npy")


def fit_and_predict(mass, head, **settings):
    X = Contexts.from_arrays(values, labels, offsets, weights=mass)
    stump = PretrainedAttentionStump(head, direction="auto", **settings).fit(X, y)
    return [*stump.coef_, stump.loss_, *stump.predict(X)]


def fit_all():
    return [
        fit_and_predict(None, "single", max_iter=2),
        fit_and_predict(weights, "reflected", max_iter=1),
        fit_and_predict(None, "gibbs", solver="flow", max_iter=1),
    ]


# First in small: libraries of linear algebra ask for their buffers at the first use.
whole = values, labels, weights, offsets, y
few = int(offsets[3])
values, labels, weights, offsets, y = (
    values[:few], labels[:few], weights[:few], offsets[:4], y[:3]
)
fit_all()
values, labels, weights, offsets, y = whole

used = re.search(r"VmData:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
cap = 1024 * int(used[1]) + allowance
resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
try:
    values + 0.0
    sys.exit("the cap does not hold")
except MemoryError:
    print("the cap holds")
np.save(folder / "found.npy", fit_all())
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the cap on memory is Linux's"
)
def test_a_corpus_several_times_larger_than_memory(tmp_path):
    values, labels, offsets, y = flat_corpus(2000, 3000)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(values))
    arrays = {
        "values": values,
        "labels": labels,
        "weights": weights,
        "offsets": offsets,
        "y": y,
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    assert values.nbytes + labels.nbytes > 3 * ALLOWANCE
    run = subprocess.run(
        [sys.executable, "-c", LARGER_THAN_MEMORY, str(tmp_path), str(ALLOWANCE)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    assert "the cap holds" in run.stdout
    found = np.load(tmp_path / "found.npy")
    X = Contexts.from_arrays(values, labels, offsets)
    weighty = Contexts.from_arrays(values, labels, offsets, weights=weights)
    cases = [
        (X, "single", {"max_iter": 2}),
        (weighty, "reflected", {"max_iter": 1}),
        (X, "gibbs", {"solver": "flow", "max_iter": 1}),
    ]
    for row, (contexts, head, settings) in zip(found, cases, strict=True):
        inside = PretrainedAttentionStump(head, direction="auto", **settings)
        inside.fit(contexts, y)
        expected = [*inside.coef_, inside.loss_, *inside.predict(contexts)]
        assert_array_equal(row, expected)


# Memory.


def traced_peak(work):
    """Bytes that a call needs at most beside what is there already."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("solver", ["newton", "flow"])
@pytest.mark.parametrize("head", HEADS)
def test_fit_needs_at_most_five_times_the_flat_data(head, solver):
    values, labels, offsets, y = flat_corpus(4000, 1000)
    X = Contexts.from_arrays(values, labels, offsets)
    fitted = stump(head, solver=solver, max_iter=10)
    peak, _ = traced_peak(lambda: fitted.fit(X, y))
    assert peak <= 5 * (values.nbytes + labels.nbytes)


@pytest.mark.parametrize("head", HEADS)
def test_predict_needs_no_more_for_more_contexts(head):
    few, many = (
        Contexts.from_arrays(*flat_corpus(n_tasks, 1000)[:3]) for n_tasks in (600, 3000)
    )
    frozen = PretrainedAttentionStump.from_coef(
        (2.0, 1.0) if head == "gibbs" else (200.0, 210.0), head, feature_range=(0, 1)
    )
    frozen.predict(few)
    small, _ = traced_peak(lambda: frozen.predict(few))
    large, _ = traced_peak(lambda: frozen.predict(many))
    assert large <= small + MIB < 20 * MIB


@pytest.fixture(scope="module")
def huge(tmp_path_factory):
    """One context of five million tokens: in memory, and on disk with weights."""
    values, labels, offsets, _ = flat_corpus(1, 5_000_000)
    labels[::1000] ^= True  # no threshold separates it
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(values))
    folder = tmp_path_factory.mktemp("huge")
    mapped = []
    for name, array in {"x": values, "labels": labels, "w": weights}.items():
        np.save(folder / f"{name}.npy", array)
        mapped.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return (
        Contexts.from_arrays(values, labels, offsets),
        Contexts.from_arrays(*mapped[:2], offsets, weights=mapped[2]),
    )


@pytest.mark.parametrize("scaling", ["range", "context"])
@pytest.mark.parametrize("head", ["single", "reflected"])
def test_a_huge_context_may_begin_with_weightless_tokens(head, scaling):
    n_tokens = (1 << 20) + 5
    x = np.linspace(0, 1, n_tokens)
    weights = np.ones(n_tokens)
    weights[[0, -1]] = 0.0
    X = Contexts.from_arrays(x, x <= 0.4, [0, n_tokens], weights=weights)
    known = {"feature_range": (0, 1)} if scaling == "range" else {}
    frozen = PretrainedAttentionStump.from_coef(
        (1e9, 1e9), head, scaling=scaling, **known
    )
    assert frozen.predict(X) == pytest.approx(0.4, abs=2e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("head", ["single", "reflected"])
def test_a_huge_context_is_predicted_within_blocks(head, on_disk, n_jobs, huge):
    X = huge[on_disk]
    coef = (40.0, 47.0)
    frozen = PretrainedAttentionStump.from_coef(coef, head, feature_range=(0, 1))
    frozen.set_params(n_jobs=n_jobs)
    peak, found = traced_peak(lambda: frozen.predict(X))
    assert peak < 8 * MIB  # the values alone are 38
    # The order of the sums is another than that of one pack.
    np.testing.assert_allclose(found, frozen.head_.predict(X, coef), rtol=1e-12)


@pytest.mark.parametrize("head", ["single", "reflected"])
def test_a_huge_context_is_read_in_one_pass(head, huge, monkeypatch):
    seen = []
    piece = Contexts.piece

    def count(contexts, start, stop):
        found = piece(contexts, start, stop)
        seen.append(found.n_tokens)
        return found

    monkeypatch.setattr(Contexts, "piece", count)
    frozen = PretrainedAttentionStump.from_coef((40, 47), head, feature_range=(0, 1))
    frozen.predict(huge[0])
    assert sum(seen) == huge[0].n_tokens


# A Dask cluster: last, as its settings of memory are in the environment meanwhile.


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes with a thread each, and a client."""
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    with (
        mock.patch.dict(os.environ),  # Dask leaves settings there
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def sent(monkeypatch):
    """How often runs of blocks were pickled, which is how they are sent."""
    pickled = []

    def state(run):
        pickled.append(run)
        return run.__dict__

    monkeypatch.setattr(BlockedPack, "__getstate__", state)
    return pickled


@pytest.fixture(scope="module")
def corpus_200():
    return make_stump_tasks(200, 100, random_state=0)


@pytest.mark.parametrize("head", HEADS)
def test_a_cluster_changes_no_bit(head, cluster, corpus_200):
    X, y = corpus_200
    alone = stump(head, max_iter=8).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        apart = stump(head, max_iter=8).fit(X, y)
        assert_array_equal(apart.predict(X), alone.predict(X))
    assert_same_fit(apart, alone)


def incoming(dask_worker):
    """How often a worker has fetched something from another."""
    return dask_worker.state.transfer_incoming_count_total


@pytest.mark.parametrize("max_iter", [2, 40])
def test_a_corpus_is_sent_to_a_cluster_once(max_iter, cluster, sent, corpus_200):
    before = cluster.run(incoming)
    with joblib.parallel_config(backend="dask"):
        fitted = stump("single", solver="gd", max_iter=max_iter).fit(*corpus_200)
    assert fitted.n_evaluations_ >= max_iter
    assert len(sent) == 2  # a run of blocks for each of two threads
    assert cluster.run(incoming) == before


def test_one_job_stays_here(cluster, sent, corpus_200):
    """As every estimator of a search on the cluster should, for speed."""
    with joblib.parallel_config(backend="dask"):
        stump("single", max_iter=2, n_jobs=1).fit(*corpus_200)
    assert not sent


def test_a_search_on_a_cluster(cluster, corpus_200):
    """Fits within workers send their blocks from there."""
    X, y = corpus_200
    search = GridSearchCV(
        stump("single", solver="gd", max_iter=2), {"init_scale": [5.0, 20.0]}, cv=2
    )
    alone = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask"):
        apart = search.fit(X, y).cv_results_["mean_test_score"]
    assert_array_equal(apart, alone)


def test_a_corpus_on_disk_on_a_cluster(cluster, corpus_200, tmp_path):
    X, y = corpus_200
    np.save(tmp_path / "values.npy", X.values)
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")
    on_disk = Contexts.from_arrays(mapped, X.labels, X.offsets)
    with joblib.parallel_config(backend="dask"):
        apart = stump("single", max_iter=3).fit(on_disk, y)
    assert_same_fit(apart, stump("single", max_iter=3).fit(X, y))


def test_a_worker_of_a_cluster_that_dies(cluster, corpus_200, monkeypatch):
    """An error that says so; the next fit goes to those that are left or new."""
    X, y = corpus_200
    pids = list(cluster.run(os.getpid).values())
    evaluate = ScatteredPack.evaluate

    def evaluate_until_killed(pack, coef, order):
        if pids:
            os.kill(pids.pop(), signal.SIGKILL)
            pids.clear()
        return evaluate(pack, coef, order)

    monkeypatch.setattr(ScatteredPack, "evaluate", evaluate_until_killed)
    fitted = stump("single", solver="gd", max_iter=500)
    with joblib.parallel_config(backend="dask"):
        with pytest.raises(RuntimeError, match=r"worker of the Dask cluster was lost"):
            fitted.fit(X, y)
        assert not hasattr(fitted, "coef_")
        cluster.wait_for_workers(2, timeout=60)
        again = stump("single", max_iter=3).fit(X, y)
    assert_same_fit(again, stump("single", max_iter=3).fit(X, y))
