"""Error consistency: do two observers err on the same images?

Everything here works on counts: `n` images, `k_i` and `k_j` that observers i and j
classified correctly, and `n11` that both did. For m observers `k` has shape (m,) and
`n11` shape (m, m), so that one matrix product serves all pairs.

Tables name two variants wherever the authors' code slips: ``published`` repeats the
slip, ``all-trials`` does not.
"""

ALL_TRIALS = "all-trials"
PUBLISHED = "published"
OTHER = "other"
