"""Where one MessagePack value ends, and whether it is worth giving to the library.

Owns: the bounds on a MessagePack message: depth, elements, length.
Knows nothing of: requests, sockets, the msgpack library.
Invariants: 1. a header that announces more than the limits is refused when its bytes are in, not when its content is.
    2. each
    byte is looked at once, however the message is cut up.
Purity: pure.
See: docs/protocol.md (limits), the MessagePack specification (formats).
"""

from indexerd.protocol.messages import Limits


class RefusedError(ValueError):
    """The value breaks a bound. `code` is the wire code."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


# Per first byte: how many length bytes follow, how many content bytes, or how many elements. Built once from the
# specification.
_FIXED_CONTENT = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED_CONTENT |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_FIXED_CONTENT |= dict.fromkeys([*range(0x80), *range(0xE0, 0x100)], 0)
_FIXED_CONTENT |= {0xA0 + length: length for length in range(32)}
_SIZED_CONTENT = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
# Extension types: before the content a byte says which.
_FIXED_CONTENT |= {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SIZED_CONTENT |= {0xC7: 1, 0xC8: 2, 0xC9: 4}
_EXTENSIONS = frozenset([0xC7, 0xC8, 0xC9, *range(0xD4, 0xD9)])
_SIZED_ELEMENTS = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


class Walker:
    """Walks one value in a growing buffer.

    Attributes:
        has_extension: One of extension types was passed.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._at = 0
        self._items = 0
        self.has_extension = False
        # How many elements are still to come at each open level; the outermost is the value itself.
        self._open = [1]

    def walk(self, buffer: bytearray) -> int | None:
        """Go on from where the last call stopped; return the value's length once it is whole.

        Args:
            buffer: The same bytes as in the last call, and perhaps more behind them.

        Raises:
            RefusedError: The value breaks a bound.
        """
        while self._open:
            if self._open[-1] == 0:
                self._open.pop()
                continue
            if not self._step(buffer):
                return None
        return self._at

    def _step(self, buffer: bytearray) -> bool:
        """Pass one header with its content; False when its bytes are not all in yet."""
        if self._at >= len(buffer):
            return False
        first = buffer[self._at]
        self.has_extension |= first in _EXTENSIONS
        if (content := _FIXED_CONTENT.get(first)) is not None:
            return self._pass(buffer, 1 + content, elements=0)
        if 0x80 <= first <= 0x9F:
            return self._pass(buffer, 1, elements=(first & 0x0F) * (2 if first < 0x90 else 1))
        if (width := _SIZED_CONTENT.get(first)) is not None:
            return self._pass_sized(buffer, width, more=first in _EXTENSIONS)
        if (sized := _SIZED_ELEMENTS.get(first)) is not None:
            return self._pass_elements(buffer, *sized)
        raise RefusedError("parse_error", f"no MessagePack value begins with 0x{first:02x}")

    def _number(self, buffer: bytearray, width: int) -> int | None:
        start = self._at + 1
        return int.from_bytes(buffer[start : start + width], "big") if len(buffer) >= start + width else None

    def _pass_sized(self, buffer: bytearray, width: int, *, more: int) -> bool:
        length = self._number(buffer, width)
        return length is not None and self._pass(buffer, 1 + width + length + more, elements=0)

    def _pass_elements(self, buffer: bytearray, width: int, per: int) -> bool:
        count = self._number(buffer, width)
        return count is not None and self._pass(buffer, 1 + width, elements=count * per)

    def _pass(self, buffer: bytearray, length: int, *, elements: int) -> bool:
        limits = self._limits
        if self._at + length > limits.in_bytes:
            raise RefusedError("too_large", f"a message may have {limits.in_bytes} bytes")
        if self._items + elements > limits.items:
            raise RefusedError("too_large", f"a message may have {limits.items} elements")
        if elements and len(self._open) > limits.depth:
            raise RefusedError("too_large", f"message nested deeper than {limits.depth}")
        if self._at + length > len(buffer):
            return False
        self._at += length
        self._open[-1] -= 1
        self._items += elements
        if elements:
            self._open.append(elements)
        return True
