"""Error consistency: do two observers err on the same images?

Everything here works on counts: `n` images, `k_i` and `k_j` that observers i and j
classified correctly, and `n11` that both did. For m observers `k` has shape (m,) and
`n11` shape (m, m), so that one matrix product serves all pairs.
"""
