"""Columns of unsigned numbers in few bytes.

Owns: the forms of a column and the choice among them.
Knows nothing of: what the numbers mean.
Invariants: 1. `widen` gives back what `narrow` was given. 2. the shortest form is taken, the first of equals: equal
    columns give equal bytes.
Purity: pure.
See: docs/on-disk-format.md (columns).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

# The last byte of a column names its form: 0 all zero, 1 to 8 bytes a number, or one byte a number and behind them the
# numbers that do not fit, four bytes each, in order.
_ESCAPED = 0xE1
_ESCAPE = 255
_ESCAPE_BYTES = 4


def narrow(values: npt.NDArray[Any]) -> bytes:
    """Return the bytes of a column.

    Args:
        values: Unsigned integers (any integer type, none negative).
    """
    top = int(values.max()) if len(values) else 0
    width = (top.bit_length() + 7) // 8
    if width in (2, 3, 4):
        large = values >= _ESCAPE
        if len(values) + _ESCAPE_BYTES * int(np.count_nonzero(large)) < width * len(values):
            small = np.where(large, _ESCAPE, values).astype(np.uint8)
            return b"".join((small.tobytes(), values[large].astype("<u4").tobytes(), bytes([_ESCAPED])))
    return b"".join((_fixed(values, width), bytes([width])))


def widen(data: memoryview, count: int, dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """Return the `count` numbers that `narrow` was given.

    Raises:
        ValueError: The bytes are not a column of `count` numbers.
    """
    form, body = data[-1], data[:-1]
    if form != _ESCAPED:
        if len(body) != form * count or form > 8:
            raise ValueError(f"{len(body)} bytes do not hold {count} numbers of {form} bytes")
        return _unfixed(body, count, form, dtype)
    values = np.frombuffer(body, np.uint8, count).astype(dtype)
    large = np.flatnonzero(values == _ESCAPE)
    values[large] = np.frombuffer(body, "<u4", offset=count)
    return values


def _fixed(values: npt.NDArray[Any], width: int) -> bytes:
    if width in (1, 2, 4, 8):
        return values.astype(f"<u{width}").tobytes()
    whole = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
    return whole[:, :width].tobytes()


def _unfixed(body: memoryview, count: int, width: int, dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    if width in (1, 2, 4, 8):
        return np.frombuffer(body, f"<u{width}").astype(dtype, copy=False)
    wide = np.zeros((count, 4 if width == 3 else 8), np.uint8)
    if width:
        wide[:, :width] = np.frombuffer(body, np.uint8).reshape(count, width)
    return wide.view("<u4" if width == 3 else "<u8").ravel().astype(dtype, copy=False)
