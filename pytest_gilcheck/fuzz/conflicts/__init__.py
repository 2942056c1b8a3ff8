"""Which steps of a run touch the same thing, and which schedules follow from that."""
