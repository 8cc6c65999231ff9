"""A table of texts as a page shows it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A caption, column heads, and rows in parts, each row after its header.

    `bodies` are pairs of a title, which may be empty, and a sequence of rows.
    """

    caption: str
    head: tuple
    bodies: tuple

    @property
    def n_rows(self):
        """Number of rows in all parts."""
        return sum(len(rows) for _, rows in self.bodies)

    def split(self, n, caption):
        """The first `n` rows of each part, and a table of the others or None."""
        first = tuple((title, rows[:n]) for title, rows in self.bodies)
        rest = tuple((title, rows[n:]) for title, rows in self.bodies if rows[n:])
        others = Grid(caption, self.head, rest) if rest else None
        return Grid(self.caption, self.head, first), others
