"""All attention heads, and the names by which the estimator knows them."""

from sklearn_attnstump.gibbs import GibbsHead
from sklearn_attnstump.head import Head
from sklearn_attnstump.softmax import ReflectedHead, SingleHead

__all__ = ["HEADS", "GibbsHead", "Head", "ReflectedHead", "SingleHead"]

HEADS: dict[str, type[Head]] = {
    "single": SingleHead,
    "reflected": ReflectedHead,
    "gibbs": GibbsHead,
}
