"""For all tests."""

import signal

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

# nohup ignores it, and what is ignored is so in all that the tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
