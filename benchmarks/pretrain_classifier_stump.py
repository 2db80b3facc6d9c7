"""Pretrain the Gibbs head that `AttentionStumpClassifier` ships with.

The corpus holds tasks of the kinds that a column of a table may be: 20 to 200
measurements or counts, read in ranks; a threshold that parts any share of the rows from
the rest equally often; labels of which up to a fifth is wrong. (Measurements are all
different, so that their gaps are equally wide in ranks and a prior weight has nothing
to weigh: the counts determine it.) Prints the coefficients of five such corpora, and
their mean, which stands, rounded, in `sklearn_attnstump/classifier.py`.

    python benchmarks/pretrain_classifier_stump.py
"""

import numpy as np
from scipy.stats import rankdata

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump

NOISE = (0.0, 0.05, 0.1, 0.15, 0.2)
MEAN_COUNTS = (3, 20, None)  # of the Poisson law; None for measurements
TASKS_EACH = 2000


def make_task(rng, noise, mean_count):
    """Mid-ranks of a column and its labels, and the threshold in ranks."""
    size = rng.randint(20, 201)
    x = rng.uniform(size=size) if mean_count is None else rng.poisson(mean_count, size)
    ranks = (rankdata(x) - 0.5) / size
    threshold = rng.uniform()
    labels = (ranks <= threshold) ^ (rng.uniform(size=size) < noise)
    return (ranks, labels), threshold


def make_corpus(seed):
    """`TASKS_EACH` tasks of each kind: contexts and thresholds."""
    rng = np.random.RandomState(seed)
    contexts, thresholds = zip(
        *(
            make_task(rng, noise, mean_count)
            for noise in NOISE
            for mean_count in MEAN_COUNTS
            for _ in range(TASKS_EACH)
        ),
        strict=True,
    )
    return Contexts(contexts), np.array(thresholds)


def main():
    """Print a line for each corpus, and the mean."""
    print("corpus   disagreement_scale   prior_weight   error (ranks)")
    coefs = []
    for seed in range(5):
        contexts, thresholds = make_corpus(seed)
        stump = PretrainedAttentionStump(GibbsHead(shrinkage=0), feature_range=(0, 1))
        stump.fit(contexts, thresholds)
        coefs.append(stump.coef_)
        scale, weight = stump.coef_
        print(f"{seed:6d}{scale:21.3f}{weight:15.3f}{np.sqrt(stump.loss_):16.4f}")
    scale, weight = np.mean(coefs, axis=0)
    print(f"  mean{scale:21.3f}{weight:15.3f}")


if __name__ == "__main__":
    main()
