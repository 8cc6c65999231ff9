"""The graph of the workflow's rules, stage by stage, for pages that show Mermaid.

https://mermaid.js.org/syntax/flowchart.html
"""

import re
from collections.abc import Iterable, Mapping

Edge = tuple[str, str]


def read_edges(text: str) -> set[Edge]:
    """Read which rule follows which.

    Parameters
    ----------
    text : str
        One or more graphs as ``snakemake --rulegraph mermaid-js`` prints them.

    Returns
    -------
    set of (str, str)
        A rule and another that needs its files, of all graphs together.
    """
    edges = set()
    for graph in text.split("flowchart")[1:]:
        names = dict(re.findall(r"(id\d+)\[(\w+)\]", graph))
        found = re.findall(r"(id\d+) --> (id\d+)", graph)
        edges |= {(names[first], names[then]) for first, then in found}
    return {(first, then) for first, then in edges if first != then}


def without_shortcuts(edges: Iterable[Edge]) -> set[Edge]:
    """Drop each edge beside which a longer path leads the same way.

    Parameters
    ----------
    edges : iterable of (str, str)
        Of a graph without cycles.
    """
    following: dict[str, set[str]] = {}
    for first, then in edges:
        following.setdefault(first, set()).add(then)

    def reached(start: str) -> set[str]:
        nodes = following.get(start, set())
        return nodes.union(*map(reached, nodes))

    return {
        (first, then)
        for first, nodes in following.items()
        for then in nodes.difference(*map(reached, nodes))
    }


def draw_stages(edges: Iterable[Edge], stage_of: Mapping[str, str]) -> str:
    """Draw one box per stage with the names of its rules in it.

    Parameters
    ----------
    edges : iterable of (str, str)
        From `read_edges`.
    stage_of : mapping of str to str
        The stage of each rule that is drawn, in the order of the boxes.

    Returns
    -------
    str
        Markdown: a block of Mermaid.
    """
    drawn = {edge for edge in edges if stage_of.keys() >= set(edge)}
    boxes: dict[str, list[str]] = {}
    for rule, stage in stage_of.items():
        boxes.setdefault(stage, []).append(rule)
    arrows = {
        (stage_of[first], stage_of[then]) for first, then in without_shortcuts(drawn)
    }
    order = list(boxes)
    lines = ["```mermaid", "flowchart LR"]
    lines += [
        f'  {stage}["<b>{stage}</b><br>{"<br>".join(names)}"]'
        for stage, names in boxes.items()
    ]
    lines += [
        f"  {first} --> {then}"
        for first, then in sorted(arrows, key=lambda pair: [*map(order.index, pair)])
        if first != then
    ]
    return "\n".join([*lines, "```", ""])
