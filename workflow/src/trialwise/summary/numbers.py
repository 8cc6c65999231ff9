"""Numbers as texts to read: few digits, true minus signs, a dash for none."""

import math

MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"


def fixed(value, digits=3):
    """A number with so many digits after the point; a dash for NaN."""
    if math.isnan(value):
        return NONE
    # Adding zero turns a negative zero into a positive one.
    return _typeset(f"{round(value, digits) + 0:,.{digits}f}")


def interval(low, high, digits=3):
    """Both ends in brackets; a dash if one of them is NaN."""
    if math.isnan(low) or math.isnan(high):
        return NONE
    return f"[{fixed(low, digits)}, {fixed(high, digits)}]"


def significant(value, digits=3):
    """A number with so many digits that count, without trailing zeros."""
    if math.isnan(value):
        return NONE
    if abs(value) >= 10**digits:
        return _typeset(f"{value:,.0f}")
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return _typeset(f"{mantissa}e{int(exponent)}" if exponent else mantissa)


def beside(published, reproduced):
    """A reproduced value with one digit more than the published one has.

    Parameters
    ----------
    published, reproduced : str
        As they stand in a table of reproduced values; texts stay as they are.

    Returns
    -------
    str
    """
    try:
        value, printed = float(reproduced), float(published)
    except ValueError:
        return reproduced
    if value == printed:
        return _typeset(published)
    mantissa, _, exponent = published.lower().partition("e")
    digits = len(mantissa.partition(".")[2]) + 1
    if exponent:
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        return _typeset(f"{mantissa}e{int(exponent)}")
    return fixed(value, digits).replace(",", "")


def _typeset(text):
    return text.replace("-", MINUS)
