"""Learn a threshold from labelled examples, in context, by a frozen attention.

* `PretrainedAttentionStump` is pretrained on tasks of known threshold and then infers
  the thresholds of fresh contexts, without fitting.
* `Contexts` holds contexts of any size and reads them from arrays and data frames.
* `sklearn_attnstump.datasets` has tasks to try it on, `sklearn_attnstump.theory` what
  can be said of it in closed form.
"""

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.estimators import PretrainedAttentionStump
from sklearn_attnstump.heads import GibbsHead, ReflectedHead, SingleHead

__version__ = "0.1.0"

__all__ = [
    "Contexts",
    "GibbsHead",
    "PretrainedAttentionStump",
    "ReflectedHead",
    "SingleHead",
]
