"""What enters the measured process: its folder is put in front of ``PYTHONPATH``.

coldsoak imports those modules of ``coldsoak_agent`` from here that both sides must agree on; each
says so of itself.
"""
