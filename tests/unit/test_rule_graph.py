"""The picture of the rules: which edges are read, which are left out."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from trialwise.rule_graph import draw_stages, read_edges, without_shortcuts

PRINTED = """---
title: DAG
---
flowchart TB
\tid0[make]
\tid1[get]
\tid2[look]
\tstyle id0 fill:#D99F57,stroke-width:2px,color:#333333
\tid1 --> id0
\tid1 --> id1
\tid2 --> id0
---
title: DAG
---
flowchart TB
\tid0[look]
\tid1[get]
\tid1 --> id0
"""


def reachable(edges):
    pairs = set(edges)
    while more := {
        (a, d) for (a, b), (c, d) in itertools.product(pairs, pairs) if b == c
    }.difference(pairs):
        pairs |= more
    return pairs


def test_graphs_are_read_by_the_names_of_rules():
    edges = read_edges(PRINTED)
    assert edges == {("get", "make"), ("look", "make"), ("get", "look")}


def test_each_stage_is_a_box_and_detours_alone_are_arrows():
    stage_of = {"get": "sources", "look": "views", "make": "things", "alone": "things"}
    assert draw_stages(read_edges(PRINTED), stage_of).splitlines() == [
        "```mermaid",
        "flowchart LR",
        '  sources["<b>sources</b><br>get"]',
        '  views["<b>views</b><br>look"]',
        '  things["<b>things</b><br>make<br>alone"]',
        "  sources --> views",
        "  views --> things",
        "```",
    ]


@given(
    st.sets(
        st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] < e[1])
    )
)
def test_no_shortcut_is_left_and_no_path_lost(edges):
    left = without_shortcuts(edges)
    assert left <= edges
    assert reachable(left) == reachable(edges)
    for edge in left:
        assert edge not in reachable(left - {edge})
