"""The population model in closed form: oracle of the tests, figures and theory page.

The two-score head reads a context of labelled observations (x_i, y_i), with y_i = 1
where x_i <= theta and 0 otherwise, through softmax weights w_i proportional to
exp(a x_i + b y_i), and predicts f = sum_i w_i x_i. Here a is the feature score (the
attention scale) and b the label score. The population model has infinite contexts,
x uniform on [0, 1], and infinitely many tasks, theta uniform on [0, 1]. All that the
head does is then known, up to one integral over theta: `sklearn_attnstump.population`
derives it and does the sums. No estimator is imported here.

From the paper's abstract (arXiv:2610.07074) are the claims that population training
calibrates the label score against the feature score, that the attention scale then
grows as t^(1/4) while the threshold error falls as t^(-1/4), that a corpus of m tasks
of n examples gives a frozen estimator with an error of order 1/min(m, n) + 1/N up to
logarithms, and that the single head has a boundary limitation. The parametrization,
all constants and all derivations below are this project's own.

1. The boundary layer
---------------------
Let a be large, q = exp(a - b) and q a small. Away from theta = 0 all attention is on
label 1, and the error is -1/a, the mean of an exponential law below the threshold.
Close to 0, with u = a theta, label 0 gets 1-p = q / (e^u - 1 + q): a context with
theta < q/a has too little of label 1 to hold the attention, and its error is near 1.
With g(u) = u / (e^u - 1), for which u m(u) = 1 - g (m being the tilted mean),
int_0^inf g = zeta(2) and int_0^inf g^2 = 2 zeta(2) - 2 zeta(3), the parts of the loss
are

* the bias, 1/a^2, and its relief at theta ~ 1/a, where the error is only -u m(u)/a:
  a^-3 int_0^inf ((1-g)^2 - 1) du = -2 zeta(3)/a^3;
* the layer, (1/a) int_0^inf (q/(u+q))^2 du = q/a, less 2q/a^2 because its height is
  1 - 1/a, and less its product with the bias, where 1-p = q/(e^u - 1):
  (2q/a^2) int_0^inf (1-g)/(e^u - 1) du = (2q/a^2) (zeta(2) - 1).

So to the next order, with its gradient to leading order, ::

    L   = 1/a^2 - 2 zeta(3)/a^3 + (q/a) (1 - pi^2/(3a))
    L_a = -2/a^3 + q/a          L_b = -q/a

2. Calibration, then progress as 1/a^3
--------------------------------------
Along the flow da/dt = -L_a, db/dt = -L_b, the gap b - a = -log q obeys
d(b-a)/dt = 2q/a - 2/a^3. It is driven to q a^2 = 1, that is b = a + 2 log a, at the
rate 2/a^3, faster by the factor 2a than a itself changes: calibration comes first. On
the calibrated path both scores rise alike, da/dt = db/dt = 1/a^3 (coordinated
parameter divergence), so a^4/4 = t: the scale is (4t)^(1/4), the error -(4t)^(-1/4),
the loss (4t)^(-1/2). The curvature, largest across the path, is 2/a^3 too: constant
steps up to a^3 are stable at a calibrated start and, as a grows, ever after.

To the next order, b = a + 2 log a asks for L_b = (1 + 2/a) L_a, which gives
q a^2 = 1 + (pi^2/3 + 3/2 - 3 zeta(3))/a and da/dt = (1 - (3 zeta(3) + 1/2)/a)/a^3, so
a = (4t)^(1/4) - zeta(3) - 1/6: at t = 10^9, where a is about 250, the leading forms
are still half a percent off.

References
----------
"Learning Decision-Stump Thresholds in Context: Dynamics of Softmax Attention",
arXiv:2610.07074. Only its abstract was used.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.special import xlog1py

from sklearn_attnstump.population import (
    FloatArray,
    group_moments,
    loss_and_gradient,
    tilted_mean,
)

__all__ = [
    "asymptotic_path",
    "certified_scale",
    "context_risk",
    "no_positive_probability",
    "population_descent",
    "population_error",
    "population_flow",
    "population_gradient",
    "population_loss",
    "population_prediction",
]

# What a broadcasting function returns: a scalar where all its arguments are scalars.
Floats: TypeAlias = np.float64 | FloatArray


def _finite(name: str, values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {values!r}.")
    return array


def _positive(name: str, values: ArrayLike) -> FloatArray:
    array = _finite(name, values)
    if (array <= 0.0).any():
        raise ValueError(f"{name} must be positive, got {values!r}.")
    return array


def _thresholds(values: ArrayLike) -> FloatArray:
    array = _finite("threshold", values)
    if ((array < 0.0) | (array > 1.0)).any():
        raise ValueError(f"threshold must lie in [0, 1], got {values!r}.")
    return array


def _coefficients(init: ArrayLike) -> tuple[float, float]:
    coef = _finite("init", init)
    if coef.shape != (2,):
        raise ValueError(
            "init must be the pair (feature_score, label_score), got an array of shape "
            f"{coef.shape}."
        )
    return float(coef[0]), float(coef[1])


def _threshold_moments(
    threshold: ArrayLike, feature_score: ArrayLike, label_score: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Validate the arguments; return the thresholds and their `group_moments`."""
    theta = _thresholds(threshold)
    a = _finite("feature_score", feature_score)
    b = _finite("label_score", label_score)
    return theta, *group_moments(theta, 1.0 - theta, a, b, b - a)


def population_prediction(
    threshold: ArrayLike, feature_score: ArrayLike, label_score: ArrayLike
) -> Floats:
    """Prediction of the single head for an infinite context, x uniform on [0, 1].

    Parameters
    ----------
    threshold : array-like
        Thresholds theta in [0, 1]. All arguments broadcast.
    feature_score : array-like
        Feature scores a, of either sign.
    label_score : array-like
        Label scores b.

    Returns
    -------
    float or ndarray
        The predicted threshold, in (0, 1).

    Raises
    ------
    ValueError
        If a threshold lies outside [0, 1] or a score is not finite.

    See Also
    --------
    population_error : The prediction less the threshold.

    Examples
    --------
    >>> from sklearn_attnstump.theory import population_prediction
    >>> print(population_prediction([0.0, 0.3, 0.8], 100.0, 110.0).round(4))
    [0.99 0.29 0.79]
    """
    theta, p, p_not, _, above = _threshold_moments(
        threshold, feature_score, label_score
    )
    # A sum of positive terms, so that small predictions keep their digits too.
    below_top = theta * tilted_mean(-np.asarray(feature_score, dtype=float) * theta)
    return (p * below_top + p_not * (theta + above))[()]


def population_error(
    threshold: ArrayLike, feature_score: ArrayLike, label_score: ArrayLike
) -> Floats:
    """Error f - theta of the single head for an infinite context, x uniform on [0, 1].

    It is accurate to about 1e-14 of the larger of the two terms (attention on label 1
    pulls down, on label 0 up) that make it up, at any finite scores.

    Parameters
    ----------
    threshold : array-like
        Thresholds theta in [0, 1]. All arguments broadcast.
    feature_score : array-like
        Feature scores a, of either sign.
    label_score : array-like
        Label scores b.

    Returns
    -------
    float or ndarray
        Prediction less threshold. For large a it is -1/a, and near 1 in the boundary
        layer at theta < exp(a - b) / a.

    Raises
    ------
    ValueError
        If a threshold lies outside [0, 1] or a score is not finite.

    See Also
    --------
    population_loss : Its mean square over the thresholds.

    Examples
    --------
    >>> from sklearn_attnstump.theory import population_error
    >>> print(population_error([0.0, 0.5, 1.0], 100.0, 110.0).round(6))
    [ 0.99 -0.01 -0.01]
    """
    _, p, p_not, below, above = _threshold_moments(
        threshold, feature_score, label_score
    )
    return (p_not * above - p * below)[()]


def _loss_and_gradients(feature_score: ArrayLike, label_score: ArrayLike) -> FloatArray:
    """`loss_and_gradient` over broadcast scores, in a last axis of length 3."""
    a, b = np.broadcast_arrays(
        _finite("feature_score", feature_score), _finite("label_score", label_score)
    )
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    rows = [loss_and_gradient(a_i, b_i, b_i - a_i) for a_i, b_i in pairs]
    return np.asarray(rows, dtype=np.float64).reshape(*a.shape, 3)


def population_loss(feature_score: ArrayLike, label_score: ArrayLike) -> Floats:
    """Mean squared error of the single head over thresholds uniform on [0, 1].

    Parameters
    ----------
    feature_score : array-like
        Feature scores a, of either sign. Both arguments broadcast.
    label_score : array-like
        Label scores b.

    Returns
    -------
    float or ndarray
        The loss, in units of the unit interval squared; about 1/a^2 + exp(a - b)/a
        for large a and small exp(a - b) a.

    Raises
    ------
    ValueError
        If a score is not finite.

    See Also
    --------
    population_error : The error at one threshold.
    population_gradient : The loss's exact gradient.

    Notes
    -----
    Gauss-Legendre quadrature graded towards the integrand's layers, in some hundred
    nodes. It is accurate to about 1e-14; the gradient to 1e-12, but to 1e-9 where a is
    near 1e8 and attention changes sides in mid-range, where theta itself is too coarse.

    Examples
    --------
    >>> from sklearn_attnstump.theory import population_loss
    >>> print(population_loss(10.0, 14.6).round(6))
    0.008275
    >>> print((population_loss([1e3, 1e8], [1014.0, 1e8 + 37]) * [1e6, 1e16]).round(3))
    [0.998 1.   ]
    """
    return _loss_and_gradients(feature_score, label_score)[..., 0][()]


def population_gradient(feature_score: ArrayLike, label_score: ArrayLike) -> FloatArray:
    """Exact gradient of the population loss.

    Parameters
    ----------
    feature_score : array-like
        Feature scores a, of either sign. Both arguments broadcast.
    label_score : array-like
        Label scores b.

    Returns
    -------
    ndarray of shape (..., 2)
        Derivatives with respect to the feature score and the label score.

    Raises
    ------
    ValueError
        If a score is not finite.

    See Also
    --------
    population_loss : The loss.
    population_flow : Descent along this gradient in continuous time.
    population_descent : Descent along it in constant steps.

    Examples
    --------
    On the calibrated path both derivatives approach -1/a^3.

    >>> import numpy as np
    >>> from sklearn_attnstump.theory import population_gradient
    >>> a = np.array([1e2, 1e4])
    >>> gradient = population_gradient(a, a + 2 * np.log(a))
    >>> print((gradient * a[:, np.newaxis] ** 3).round(3))
    [[-0.971 -0.966]
     [-1.    -1.   ]]
    """
    return _loss_and_gradients(feature_score, label_score)[..., 1:]


def population_flow(init: ArrayLike, times: ArrayLike) -> FloatArray:
    """Gradient flow of the population loss, d coef/dt = -grad.

    Parameters
    ----------
    init : array-like of shape (2,)
        Feature score and label score at time 0.
    times : array-like of shape (n_times,)
        Times at which the scores are wanted, at least 0, in any order.

    Returns
    -------
    ndarray of shape (n_times, 2)
        Feature score and label score at each time.

    Raises
    ------
    ValueError
        If `init` is not a finite pair or `times` not a vector of finite times >= 0.
    RuntimeError
        If the integrator gives up.

    See Also
    --------
    population_descent : The same descent in constant steps.
    asymptotic_path : Its limit for large times.

    Notes
    -----
    The state is (arcsinh a, b - a). The first is log a up to a constant for large a and
    passes zero smoothly, as some paths from small scores do. The second is what the
    boundary layer depends on, and would lose its digits in b alone. Time is log(1 + t),
    in which the path is slow but for the calibration, of rate 2/a^3: the problem is
    stiff, hence the method. The path is accurate to about 1e-8. At (0, 0) the gradient
    vanishes by symmetry, and rounding alone decides on which side the path leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_attnstump.theory import population_flow
    >>> times = np.array([1e5, 1e9, 1e13])
    >>> path = population_flow([10.0, 14.6], times)
    >>> print((path[:, 0] / times**0.25).round(3))  # tends to sqrt(2)
    [1.34  1.406 1.413]
    """
    a, b = _coefficients(init)
    times = _finite("times", times)
    if times.ndim != 1 or (times < 0.0).any():
        raise ValueError(f"times must be a vector of times >= 0, got {times!r}.")
    clock, position = np.unique(np.log1p(times), return_inverse=True)
    if clock.size == 0:
        return np.empty((0, 2))

    def velocity(tau: float, state: FloatArray) -> list[float]:
        a, gap = math.sinh(state[0]), float(state[1])
        _, slope_a, slope_b = loss_and_gradient(a, a + gap, gap)
        rate = math.exp(tau)  # dt / dtau
        return [-rate * slope_a / math.hypot(1.0, a), rate * (slope_a - slope_b)]

    solution = solve_ivp(
        velocity,
        (0.0, max(clock[-1], 1.0)),  # never of length 0, for times that are all 0
        [math.asinh(a), b - a],
        method="LSODA",
        t_eval=clock,
        rtol=1e-10,
        atol=1e-10,
    )
    if not solution.success:
        raise RuntimeError(f"The population flow stopped: {solution.message}")
    feature_score = np.sinh(solution.y[0])
    path = np.column_stack([feature_score, feature_score + solution.y[1]])
    return path[position]


def population_descent(
    init: ArrayLike, step_size: float, n_steps: int, *, record_every: int = 1
) -> FloatArray:
    """Constant-step gradient descent on the population loss.

    Repeats ``coef = coef - step_size * grad``, the rule of the library's ``"gd"``
    solver. After k steps it is near `population_flow` at the time k * step_size.

    Parameters
    ----------
    init : array-like of shape (2,)
        Feature score and label score at the start.
    step_size : float
        The step eta > 0. From a calibrated start (a, a + 2 log a) steps up to about a^3
        are stable.
    n_steps : int
        Number of steps.
    record_every : int, default=1
        Keep the coefficients after every so many steps.

    Returns
    -------
    ndarray of shape (1 + n_steps // record_every, 2)
        Feature score and label score, from the start on; row i is the state after
        i * record_every steps.

    Raises
    ------
    ValueError
        If `init` is not a finite pair, or a number is out of its range.

    See Also
    --------
    population_flow : The limit of small steps.

    Examples
    --------
    >>> from sklearn_attnstump.theory import population_descent, population_flow
    >>> print(population_descent([10.0, 14.6], 10.0, 100)[-1].round(2))
    [10.59 15.24]
    >>> print(population_flow([10.0, 14.6], [1000.0])[0].round(2))
    [10.59 15.24]
    """
    coef = np.array(_coefficients(init))
    if not (math.isfinite(step_size) and step_size > 0.0):
        raise ValueError(f"step_size must be positive and finite, got {step_size!r}.")
    if n_steps < 0 or record_every < 1:
        raise ValueError(
            "n_steps must be at least 0 and record_every at least 1, got "
            f"{n_steps!r} and {record_every!r}."
        )
    path = [coef]
    for step in range(1, n_steps + 1):
        coef = coef - step_size * population_gradient(coef[0], coef[1])
        if step % record_every == 0:
            path.append(coef)
    return np.array(path)


def asymptotic_path(times: ArrayLike) -> FloatArray:
    """Leading form of the population flow at large times.

    a = (4t)^(1/4) and b = a + 2 log a. The threshold error is then -1/a and the loss
    1/a^2. The rates are claims of the paper's abstract, the constants this project's.

    Parameters
    ----------
    times : array-like
        Times t > 0.

    Returns
    -------
    ndarray of shape (..., 2)
        Feature score and label score.

    Raises
    ------
    ValueError
        If a time is not positive and finite.

    See Also
    --------
    population_flow : The path itself. Its a tends to this one's less zeta(3) + 1/6.

    Examples
    --------
    >>> from sklearn_attnstump.theory import asymptotic_path
    >>> print(asymptotic_path([4e4, 4e8]).round(3))
    [[ 20.     25.991]
     [200.    210.597]]
    """
    times = _finite("times", times)
    if (times <= 0.0).any():
        raise ValueError(f"times must be positive, got {times!r}.")
    feature_score = (4.0 * times) ** 0.25
    return np.stack([feature_score, feature_score + 2 * np.log(feature_score)], axis=-1)


def context_risk(
    estimator: Literal[
        "one_sided", "midpoint", "single", "reflected", "anchored_reflected"
    ],
    n_examples: ArrayLike,
    feature_score: ArrayLike | None = None,
) -> Floats:
    """Mean squared error on a fresh context of N examples, to leading order in N.

    For a fixed interior threshold and a feature uniform on [0, 1]:

    ======================  ======================  ===================================
    estimator               risk                    valid for
    ======================  ======================  ===================================
    ``one_sided``           2 / N^2                 the single head as a -> infinity:
                                                    the largest x with label 1
    ``midpoint``            1 / (2 N^2)             midpoint of the gap between the
                                                    labels; Bayes under U[0, 1]
    ``single``              1 / a^2 + 1 / (4 a N)   N >> a: a bias floor 1/a
    ``reflected``           1 / (8 a N)             N >> a: no floor
    ``anchored_reflected``  1 / (2 N^2)             the reflected head with anchors, as
                                                    a -> infinity: no failing boundary
    ======================  ======================  ===================================

    Parameters
    ----------
    estimator : str
        A row of the table.
    n_examples : array-like
        Context sizes N. Broadcasts with `feature_score`.
    feature_score : array-like, optional
        Attention scales a > 0, for ``"single"`` and ``"reflected"`` only.

    Returns
    -------
    float or ndarray
        The risk, in units of the unit interval squared.

    Raises
    ------
    ValueError
        If the estimator is unknown, a number is not positive, or `feature_score` is
        missing where it is needed or given where it is not.

    See Also
    --------
    no_positive_probability : The chance that the heads without anchors fail.

    Notes
    -----
    The distances from the threshold to the nearest example of either label are
    independent exponentials E1, E2 of mean 1/N: the largest positive has the risk
    E[E1^2], the midpoint E[(E1 - E2)^2] / 4. For N >> a the examples below the
    threshold are a dense sample with weights exp(-a z), z = theta - x. The weighted
    mean of z is 1/a, the bias; its variance is
    N int e^(-2az) (z - 1/a)^2 dz / (N/a)^2 = 1/(4aN). The reflected head averages two
    independent sides of opposite bias. With anchors, the range's end stands in for a
    missing example: at theta = c/N the risk is (1 - c e^-c) / (2 N^2), never above the
    interior's.

    Examples
    --------
    >>> from sklearn_attnstump.theory import context_risk
    >>> print(context_risk("midpoint", [10, 100]))
    [5.e-03 5.e-05]
    >>> print(context_risk("single", 10_000, 100.0))
    0.00010025
    """
    n = _positive("n_examples", n_examples)
    if estimator in ("single", "reflected"):
        if feature_score is None:
            raise ValueError(f"The risk of {estimator!r} depends on feature_score.")
        a = _positive("feature_score", feature_score)
        if estimator == "reflected":
            return 1.0 / (8.0 * a * n)
        return 1.0 / a**2 + 1.0 / (4.0 * a * n)
    if feature_score is not None:
        raise ValueError(f"The risk of {estimator!r} does not depend on feature_score.")
    if estimator == "one_sided":
        return 2.0 / n**2
    if estimator in ("midpoint", "anchored_reflected"):
        return 1.0 / (2.0 * n**2)
    raise ValueError(
        "estimator must be 'one_sided', 'midpoint', 'single', 'reflected' or "
        f"'anchored_reflected', got {estimator!r}."
    )


def no_positive_probability(threshold: ArrayLike, n_examples: ArrayLike) -> Floats:
    """Chance that no example of a context lies at or below the threshold.

    Then no token has label 1, and heads without anchors predict near the range's top
    (single) or its middle (reflected): the single head's boundary limitation.

    Parameters
    ----------
    threshold : array-like
        Thresholds theta in [0, 1]. Both arguments broadcast.
    n_examples : array-like
        Context sizes N > 0, the feature being uniform on [0, 1].

    Returns
    -------
    float or ndarray
        (1 - theta)^N; about exp(-c) at theta = c/N.

    Raises
    ------
    ValueError
        If a threshold lies outside [0, 1] or a size is not positive.

    See Also
    --------
    context_risk : The risk where both labels occur.

    Examples
    --------
    >>> from sklearn_attnstump.theory import no_positive_probability
    >>> print(no_positive_probability([0.0, 0.001, 0.5], 1000).round(3))
    [1.    0.368 0.   ]
    """
    theta = _thresholds(threshold)
    return np.exp(xlog1py(_positive("n_examples", n_examples), -theta))


def certified_scale(n_tasks: ArrayLike, n_examples: ArrayLike) -> Floats:
    """Attention scale up to which a finite corpus stands for the population.

    k / log k, with k the smaller of the number of tasks m and of examples per task n:
    the inverse of the rate (m ^ n)^-1 of the paper's abstract, less a logarithm.
    Training beyond it fits the corpus's sampling noise.

    Parameters
    ----------
    n_tasks : array-like
        Numbers of tasks m. Both arguments broadcast.
    n_examples : array-like
        Numbers of examples per task n.

    Returns
    -------
    float or ndarray
        The scale. It is smallest at k = 3 and rises from there.

    Raises
    ------
    ValueError
        If a number is below 2, where the logarithm is not positive.

    See Also
    --------
    population_flow : The path that it is a point of, on infinite corpora.

    Examples
    --------
    >>> from sklearn_attnstump.theory import certified_scale
    >>> print(certified_scale([2, 100, 1000], 500).round(2))
    [ 2.89 21.71 80.46]
    """
    m, n = _finite("n_tasks", n_tasks), _finite("n_examples", n_examples)
    smaller = np.minimum(m, n)
    if (smaller < 2.0).any():
        raise ValueError(
            "The certified scale needs at least 2 tasks of at least 2 examples each, "
            f"got n_tasks={n_tasks!r} and n_examples={n_examples!r}."
        )
    return smaller / np.log(smaller)
