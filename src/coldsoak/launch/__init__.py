"""A plan becomes processes: schedule, executor, cold states, end conditions, the saved result."""
