"""Choice models: how a person's choices follow from what a learner predicts.

Mixed-effects logistic regressions with one grouping factor (the participant), fitted by
Laplace-approximated maximum likelihood as lme4's `glmer` does, and the probabilities
they give to choices they have not seen.
"""
