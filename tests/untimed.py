"""Settings of hypothesis for a busy machine: no example has a deadline, and drawing one may take its time."""

from hypothesis import HealthCheck, settings

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
