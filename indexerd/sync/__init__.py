"""The sync: keeps one store in step with its roots, event by event, with the scan as the truth."""
