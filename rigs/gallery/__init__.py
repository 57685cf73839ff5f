"""Pictures of the pages, on one sheet (`make gallery`)."""
