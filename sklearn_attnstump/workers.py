"""Workers: the threads of this process, or whatever joblib has been told to use.

Blocks of work are often done within a millisecond. joblib looks for results every ten
(a sleep in its own loop), so that its threads cost more than they save; where joblib
would take threads, those of the standard library are taken. Every other backend,
processes or a cluster, is joblib's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from joblib._parallel_backends import ThreadingBackend
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed


class Workers:
    """Who works on the blocks, from ``with`` to the end of it.

    Parameters
    ----------
    n_jobs : int or None
        As scikit-learn has it: None is 1, unless `joblib.parallel_config` says
        otherwise, and -1 all processors.

    Attributes
    ----------
    n_jobs : int
        How many work at a time.
    backend : joblib's backend
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.backend, configured = get_active_backend(prefer="threads")
        asked = n_jobs if n_jobs is not None else configured
        self.n_jobs = 1
        if n_jobs != 1:  # a cluster's backend always says how many there are
            self.n_jobs = self.backend.effective_n_jobs(1 if asked is None else asked)
        self._threads: ThreadPoolExecutor | None = None
        self._joblib: Any = None
        if self.n_jobs > 1 and isinstance(self.backend, ThreadingBackend):
            self._threads = ThreadPoolExecutor(self.n_jobs)
        elif self.n_jobs > 1:
            self._joblib = Parallel(n_jobs=n_jobs, prefer="threads")

    def map(
        self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]
    ) -> list[Any]:
        """``function(*job)`` for each of the jobs, in their order."""
        if self._threads is not None:
            settings = get_config()
            run = self._threads.submit
            calls = [run(_with_settings, settings, function, job) for job in jobs]
            return [call.result() for call in calls]
        if self._joblib is not None:
            found: list[Any] = self._joblib(delayed(function)(*job) for job in jobs)
            return found
        return [function(*job) for job in jobs]

    def __enter__(self) -> Self:
        if self._joblib is not None:
            self._joblib.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        if self._joblib is not None:
            self._joblib.__exit__(kind, error, trace)


def _with_settings(
    settings: dict[str, Any], function: Callable[..., Any], job: tuple[Any, ...]
) -> Any:
    with config_context(**settings):  # scikit-learn's settings are each thread's own
        return function(*job)
