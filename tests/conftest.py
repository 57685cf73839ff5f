"""For all tests."""

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")
