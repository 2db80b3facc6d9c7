"""
Pretraining on a cluster
========================

Pretraining evaluates one loss over the whole corpus, over and over. `n_jobs` spreads
the corpus over threads; under ``joblib.parallel_config(backend="dask")`` the same fit
spreads it over the workers of a Dask cluster, each of which is sent its part once and
keeps it. What comes back from an evaluation is a few numbers for each task, and they
are added up in the order of the tasks: the coefficients are the same, bit for bit, on
one processor, on threads and on a cluster.

The cluster here is two processes on this machine; a ``Client`` of a real one takes its
place without another change. It needs ``pip install "dask[distributed]"``.
"""

import time
import warnings

import joblib
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks

# %%
# Two fits that differ in nothing but the number of constant steps tell what a step
# costs: preparing the corpus, and sending it, cancel out.


def fit(X, y, max_iter, n_jobs):
    stump = PretrainedAttentionStump(
        "reflected",
        feature_range=(0, 1),
        solver="gd",
        init_scale=30,
        max_iter=max_iter,
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings():  # they end long before the loss is stationary
        warnings.simplefilter("ignore", ConvergenceWarning)
        return stump.fit(X, y)


def seconds_of_a_step(X, y, n_jobs):
    spent = []
    for max_iter in (2, 22, 2, 22):
        start = time.perf_counter()
        stump = fit(X, y, max_iter, n_jobs)
        spent.append(time.perf_counter() - start)
    return (min(spent[1::2]) - min(spent[::2])) / 20, stump.coef_


# %%
# The worker processes of a local cluster import the script that starts it. What it does
# is therefore a function, called below for the script itself alone.


def main(sizes=(10_000, 100_000, 1_000_000, 2_000_000)):
    ways = ("one processor", "two threads", "Dask, two workers")
    seconds = {way: [] for way in ways}
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        for n_tokens in sizes:
            X, y = make_stump_tasks(
                n_tokens // 1000, 1000, threshold_range=(0.1, 0.9), random_state=0
            )
            found = {
                "one processor": seconds_of_a_step(X, y, 1),
                "two threads": seconds_of_a_step(X, y, 2),
            }
            with joblib.parallel_config(backend="dask"):
                found["Dask, two workers"] = seconds_of_a_step(X, y, None)
            coefs = [coef for _, coef in found.values()]
            same = all(np.array_equal(coef, coefs[0]) for coef in coefs)
            print(f"{n_tokens:9,d} tokens: coefficients equal bit for bit: {same}")
            for way in ways:
                seconds[way].append(found[way][0])
    draw(sizes, seconds)


def draw(sizes, seconds):
    _, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    colors = ("#0072b2", "#009e73", "#d55e00")
    for (way, spent), color, marker in zip(seconds.items(), colors, "os^", strict=True):
        axes.loglog(
            sizes, 1000 * np.array(spent), marker=marker, color=color, label=way
        )
    axes.set(xlabel="tokens of the corpus", ylabel="milliseconds a step")
    axes.legend()
    axes.grid(alpha=0.3)


# %%
# A round trip to the workers costs some hundredths of a second, whatever the corpus,
# and two workers on one machine have no more processors than two threads. A cluster is
# for corpora of which an evaluation takes longer than that, or that no single machine
# holds.

if __name__ == "__main__":
    main()
