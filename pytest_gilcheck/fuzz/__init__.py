"""Does it survive? Every schedule of a few preemptions, then sampled ones, of threads that share something."""
