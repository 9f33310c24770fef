"""One sample of bytes, delivered as a network may deliver it: whole, byte by byte, in odd pieces."""

from collections.abc import Iterator


def deliveries(sample: bytes) -> Iterator[tuple[bytes, ...]]:
    """Yield the same bytes cut up in different ways."""
    yield (sample,)
    yield tuple(bytes((byte,)) for byte in sample)
    for size in (2, 3, 7):
        yield tuple(sample[start : start + size] for start in range(0, len(sample), size))
