"""Work that did not run where the program says."""
