"""What a choice model is fitted to: choices, model matrices and participants."""

import re
from dataclasses import dataclass, replace
from functools import cached_property

import formulaic
import numpy as np
import pandas as pd

from trialwise.errors import InputError

SCALINGS = ("none", "divide", "standardise")

# As R's qr has it.
RANK_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Design:
    """What a mixed-effects logistic regression is fitted to.

    Attributes
    ----------
    y : ndarray, shape (n,)
        Choices, 0 or 1.
    X : ndarray, shape (n, p)
        Columns of the fixed effects.
    Z : ndarray, shape (n, k)
        Columns of the random effects: every group has effects of its own of these.
    groups : ndarray, shape (n,)
        The group (participant) of each row.
    correlated : bool
        Whether the random effects may correlate (`|`) or not (`||`).
    fixed_names, random_names : tuple of str
        Names of the columns of X and Z.

    Raises
    ------
    InputError
        If shapes disagree, there are no rows, no columns or fewer than two groups, a
        value is missing or infinite, a choice is neither 0 nor 1, a column of X is a
        combination of the columns before it, or a column of Z is 0 throughout.
    """

    y: np.ndarray
    X: np.ndarray
    Z: np.ndarray
    groups: np.ndarray
    correlated: bool = True
    fixed_names: tuple[str, ...] = ()
    random_names: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("y", "X", "Z"):
            try:
                values = np.asarray(getattr(self, name), dtype=float)
            except (TypeError, ValueError):
                raise InputError(f"{name} must hold numbers.") from None
            object.__setattr__(self, name, values)
        object.__setattr__(self, "groups", np.asarray(self.groups))
        for matrix, names in (("X", "fixed_names"), ("Z", "random_names")):
            values, given = getattr(self, matrix), tuple(getattr(self, names))
            if values.ndim != 2 or values.shape[1] == 0:
                raise InputError(f"{matrix} needs two dimensions and a column.")
            given = given or tuple(f"{matrix}{j}" for j in range(values.shape[1]))
            if len(given) != values.shape[1]:
                raise InputError(f"{matrix} needs one name per column.")
            object.__setattr__(self, names, given)
        self._check_rows()
        self._check_columns()

    def _check_rows(self):
        n = len(self.y)
        if n == 0:
            raise InputError("There are no choices to fit. Pass at least one row.")
        if not len(self.X) == len(self.Z) == len(self.groups) == n:
            raise InputError("y, X, Z and groups need one row per choice.")
        if self.y.ndim != 1 or not np.isin(self.y, (0, 1)).all():
            raise InputError("Choices must be 0 or 1.")
        if pd.isna(self.groups).any():
            raise InputError("The group of some rows is missing. Leave those rows out.")
        if len(self.levels) < 2:
            raise InputError(
                "Random effects need at least two groups. Pass the choices of two "
                "participants or more."
            )

    def _check_columns(self):
        for values, names in ((self.X, self.fixed_names), (self.Z, self.random_names)):
            for column, name in zip(values.T, names, strict=True):
                if not np.isfinite(column).all():
                    raise InputError(
                        f"Column {name} has missing or infinite values. Leave those "
                        "rows out."
                    )
        for column, name in zip(self.Z.T, self.random_names, strict=True):
            if not column.any():
                raise InputError(
                    f"The random effect {name} is 0 in every row. Leave it out."
                )
        pivots = np.zeros(self.X.shape[1])
        diagonal = np.diagonal(
            np.linalg.qr(self.X / root_mean_square(self.X), mode="r")
        )
        pivots[: len(diagonal)] = np.abs(diagonal)
        dependent = np.flatnonzero(pivots < RANK_TOLERANCE * np.sqrt(len(self.X)))
        if dependent.size:
            raise InputError(
                f"Column {self.fixed_names[dependent[0]]} is 0 in every row or a "
                "combination of the columns before it, so that its fixed effect is not "
                "defined; leave it out."
            )

    @cached_property
    def _factorized(self):
        return pd.factorize(self.groups, sort=True)

    @property
    def levels(self):
        """The groups, sorted, shape (G,)."""
        return self._factorized[1]

    @property
    def codes(self):
        """Position of each row's group in `levels`, shape (n,)."""
        return self._factorized[0]


def design(formula, data):
    """Turn a formula in the notation of R's lme4 into a `Design`.

    Parameters
    ----------
    formula : str
        ``choice ~ FIXED + (RANDOM | group)``, with ``||`` for independent random
        effects. ``choice`` and ``group`` name columns; FIXED and RANDOM use what R and
        formulaic share (``1``, ``-1``, ``a:b``, ``a*b``, ``C(a)``), and factors are
        coded as in R.
    data : pandas.DataFrame
        One row per choice.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If there is not exactly one random term, a column is unknown or has missing
        values, a factor stands left of ``||`` (`glmer` would let its levels correlate
        all the same), or `Design` refuses.
    """
    response, fixed, random, bar, group = _split(formula)
    for column in (response, group):
        if column not in data:
            raise InputError(
                f"There is no column {column!r} for {formula!r}. There are "
                f"{', '.join(map(str, data))}."
            )
    X, _ = _model_matrix(fixed, data)
    Z, has_factor = _model_matrix(random, data)
    if has_factor and bar == "||":
        raise InputError(
            f"The levels of a factor in {formula!r} cannot be independent random "
            "effects. Use | in place of ||."
        )
    return Design(
        y=data[response].to_numpy(),
        X=X.to_numpy(dtype=float),
        Z=Z.to_numpy(dtype=float),
        groups=data[group].to_numpy(),
        correlated=bar == "|",
        fixed_names=tuple(X.columns),
        random_names=tuple(Z.columns),
    )


def column_of(design, name):
    """The column of X or Z of a name.

    Parameters
    ----------
    design : Design
    name : str

    Returns
    -------
    ndarray, shape (n,)
    """
    names = (*design.fixed_names, *design.random_names)
    return np.hstack([design.X, design.Z])[:, names.index(name)]


def rescale(design, predictor, scaling, rows=slice(None)):
    """The design with its predictor scaled by the mean and SD of some rows.

    Parameters
    ----------
    design : Design
    predictor : str
        The column of X and Z that is scaled.
    scaling : {"none", "divide", "standardise"}
        Leave the predictor as it is, divide it by its standard deviation (ddof 1), or
        subtract its mean first.
    rows : slice or ndarray, optional
        The rows that mean and standard deviation are taken from, default all.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If the scaling is unknown, or the predictor is constant, not in the design or
        part of another of its columns.
    """
    if scaling not in SCALINGS:
        raise InputError(f"Scaling must be one of {', '.join(SCALINGS)}.")
    if scaling == "none":
        return design
    names = (*design.fixed_names, *design.random_names)
    if predictor not in names:
        raise InputError(
            f"There is no column {predictor!r} to scale. The design has "
            f"{', '.join(dict.fromkeys(names))}."
        )
    compound = [
        c for c in names if c != predictor and predictor in re.findall(r"\w+", c)
    ]
    if compound:
        raise InputError(
            f"Column {compound[0]} cannot be scaled with {predictor}. Scale the data "
            "before the design is built."
        )
    values = column_of(design, predictor)
    spread = values[rows].std(ddof=1)
    if not spread > 0:
        raise InputError(
            f"Column {predictor} is constant, and cannot be scaled. Leave it unscaled."
        )
    centre = values[rows].mean() if scaling == "standardise" else 0
    values = (values - centre) / spread
    X, Z = design.X.copy(), design.Z.copy()
    X[:, np.array(design.fixed_names) == predictor] = values[:, None]
    Z[:, np.array(design.random_names) == predictor] = values[:, None]
    return replace(design, X=X, Z=Z)


def rows_of(design, rows):
    """The design of some rows.

    Parameters
    ----------
    design : Design
    rows : ndarray
        Positions or booleans.

    Returns
    -------
    Design
    """
    return replace(
        design,
        y=design.y[rows],
        X=design.X[rows],
        Z=design.Z[rows],
        groups=design.groups[rows],
    )


def root_mean_square(columns):
    """Root mean square of each column, and 1 where that is 0.

    Parameters
    ----------
    columns : ndarray, shape (n, m)

    Returns
    -------
    ndarray, shape (m,)
    """
    scale = np.sqrt((columns**2).mean(axis=0))
    return np.where(scale > 0, scale, 1)


def _split(formula):
    """Response, fixed part, random part, bar and group of a formula."""
    response, _, right = formula.partition("~")
    bars = re.findall(r"\|+", right)
    if len(bars) != 1 or len(bars[0]) > 2:
        raise InputError(
            f"{formula!r} needs exactly one random term, such as (1 + x | participant)."
        )
    before, after = right.split(bars[0])
    start, depth = len(before), 0
    while start > 0 and depth >= 0:
        start -= 1
        depth += {")": 1, "(": -1}.get(before[start], 0)
    group, closing, rest = after.partition(")")
    if depth >= 0 or not closing:
        raise InputError(
            f"The random term of {formula!r} lacks its parentheses. Write it like "
            "(1 + x | participant)."
        )
    fixed = before[:start].rstrip().removesuffix("+") + rest
    fixed = fixed.strip().removeprefix("+") or "1"
    return response.strip(), fixed, before[start + 1 :], bars[0], group.strip()


def _model_matrix(terms, data):
    """Model matrix of one part of a formula, and whether it contains a factor."""
    try:
        columns = sorted(formulaic.Formula(terms).required_variables)
        for column in columns:
            if column not in data:
                raise InputError(
                    f"There is no column {column!r} for {terms.strip()!r}. There are "
                    f"{', '.join(map(str, data))}."
                )
            if data[column].isna().any():
                raise InputError(
                    f"Column {column} has missing values. Leave those rows out."
                )
        matrix = formulaic.model_matrix(terms, data, context={})
    except formulaic.errors.FormulaicError as error:
        raise InputError(
            f"{terms.strip()!r} is no formula: {error}. Write it as for lme4."
        ) from error
    return pd.DataFrame(matrix), bool(matrix.model_spec.factor_contrasts)
