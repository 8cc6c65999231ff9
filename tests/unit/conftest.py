"""Examples are not timed: how long one takes depends on what else the machine does."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
