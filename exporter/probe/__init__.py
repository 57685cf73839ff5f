"""Short fio runs that measure a drive, and the rules that keep them harmless."""
