"""A busy machine may stop a process for a while: how long an example takes proves nothing."""

from hypothesis import settings

settings.register_profile("coldsoak", deadline=None)
settings.load_profile("coldsoak")
