"""Does the rest stay responsive while this workload runs in worker threads?"""
