"""Long work off the interface: what to run, the store on disk, and the worker processes that run it."""
