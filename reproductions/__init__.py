"""The claims of five papers on our specimens: what is trained, one run at a time, and the records of it."""
