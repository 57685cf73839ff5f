"""Records to samples, a subject a module. A collector never waits for a disk."""
