"""Corpora of decision-stump tasks: a generator and real data.

- `make_stump_tasks` draws tasks of known thresholds, clean or noisy, ragged or not.
- `load_browser_support` is a real corpus: since when a browser supports a web feature.
"""

from sklearn_attnstump.datasets._browser_support import load_browser_support
from sklearn_attnstump.datasets._stump_tasks import make_stump_tasks

__all__ = ["load_browser_support", "make_stump_tasks"]
