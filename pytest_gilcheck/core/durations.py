"""Durations in words."""


def seconds(value: float) -> str:
    """Seconds as people read them: ``1.24 s``, ``15.6 ms``, ``3 us``."""
    if abs(value) >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if abs(value) >= 1e-5 else f"{value * 1e6:.3g} us"
