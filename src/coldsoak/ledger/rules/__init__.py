"""One module of rules per source: what a record says about the cause of the time it covers."""
