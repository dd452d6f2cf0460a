"""The part of coldsoak that lives in the measured process: standard library only, Python 3.9 up."""
