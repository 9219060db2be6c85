"""One line a measurement."""


def report(name: str, found: str, aim: str) -> None:
    """What was measured, and what is aimed at."""
    print(f"{name:<74} {found:<28} aim {aim}", flush=True)
