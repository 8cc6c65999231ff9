"""Measures of representations: what may explain why some are more human than others.

One module per measure; `measure` applies them to a model. Feature matrices may be
memory-mapped and of any real type: they are read in blocks of rows and summed in
float64.
"""
