"""Displays: figures of pretraining, attention and errors.

They follow scikit-learn's displays. The constructor takes arrays; class methods named
``from_...`` compute the arrays and draw at once; `plot` draws on axes that are given or
makes some, and keeps what it drew in attributes that end with an underscore. Only
`plot` imports matplotlib, which ``pip install matplotlib`` brings.

- `PretrainingPathDisplay`: the scores, their calibration and the loss against time.
- `LossLandscapeDisplay`: the loss over the two scores, with the path on it.
- `AttentionDisplay`: what the attention looks at in one context.
- `ThresholdErrorDisplay`: errors against the size of contexts or of the corpus, or
  against the threshold, with lines of theory.
"""

from sklearn_attnstump.displays._attention import AttentionDisplay
from sklearn_attnstump.displays._loss_landscape import LossLandscapeDisplay
from sklearn_attnstump.displays._pretraining_path import PretrainingPathDisplay
from sklearn_attnstump.displays._threshold_error import ThresholdErrorDisplay

__all__ = [
    "AttentionDisplay",
    "LossLandscapeDisplay",
    "PretrainingPathDisplay",
    "ThresholdErrorDisplay",
]
