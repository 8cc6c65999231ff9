"""The look that all figures share: sizes in print, colours, markers, files.

Every function that draws is decorated with `in_style`: texts take their size when they
are made.
"""

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trialwise.files import whole

COMPUTED, PUBLISHED = "computed", "published"

# Okabe and Ito (2008), which people with any colour vision can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, LIGHT_GREY, FAINT = "#666666", "#B0B0B0", "#E4E4E4"

MODEL_TYPES = {
    "Supervised": BLUE,
    "Self-Supervised": SKY,
    "Multimodal": VERMILION,
    "Language": GREEN,
    "Task": BLACK,
}
MODEL_MARKERS = {
    "Supervised": "o",
    "Self-Supervised": "s",
    "Multimodal": "D",
    "Language": "^",
    "Task": "*",
}

# Inches on paper; a text of `BASE` points stays as large when the figure is printed.
TEXT_WIDTH, COLUMN_WIDTH = 6.8, 3.4
BASE, SMALL = 8, 7

_LOOK = {
    "font.family": "DejaVu Sans",
    "font.size": BASE,
    "axes.titlesize": BASE,
    "axes.titlelocation": "left",
    "axes.labelsize": BASE,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.0,
    "lines.markersize": 4.0,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
}

in_style = matplotlib.rc_context(_LOOK)


@in_style
def new_figure(width, height, rows=1, columns=1, **options):
    """An empty figure in the shared style.

    Parameters
    ----------
    width, height : float
        Inches on paper; `TEXT_WIDTH` and `COLUMN_WIDTH` fit a page and a column.
    rows, columns : int
        Panels.
    options
        Passed on to `matplotlib.figure.Figure.subplots` (``sharex``, ``width_ratios``).

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : ndarray of matplotlib.axes.Axes, shape (rows, columns)
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def bare(axes):
    """Take ticks and frame away, as for an image or an unused panel."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


@in_style
def letter_panels(axes):
    """Put a, b, c ... above the left corner of each panel, row by row."""
    for letter, panel in zip("abcdefghijklmnopqrstuvwxyz", axes.flat, strict=False):
        panel.annotate(
            letter,
            (0, 1),
            xycoords="axes fraction",
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontweight="bold",
        )


@in_style
def save(figure, path):
    """Write a figure whole, in the format of the suffix, without date or version."""
    unstamped = {
        ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        ".png": {"Software": None},
    }
    with whole(path) as temporary:
        figure.savefig(temporary, dpi=200, metadata=unstamped[temporary.suffix])
