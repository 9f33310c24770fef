"""A clock that stands still until a test moves it; implements `ports.Clock`."""

import datetime

_START_NS = 1_700_000_000_000_000_000


class ManualClock:
    """Both times advance together; wall time can also be set apart, as an administrator would."""

    def __init__(self, start_ns: int = _START_NS, monotonic: float = 0.0) -> None:
        self._wall_ns = start_ns
        self._monotonic = monotonic

    def __repr__(self) -> str:
        return f"ManualClock(wall_ns={self._wall_ns}, monotonic={self._monotonic})"

    def monotonic(self) -> float:
        return self._monotonic

    def now_ns(self) -> int:
        return self._wall_ns

    def today(self) -> datetime.date:
        return self.day_of(self._wall_ns)

    def day_of(self, moment_ns: int) -> datetime.date:
        return datetime.datetime.fromtimestamp(moment_ns / 1e9, datetime.UTC).date()

    def time_zone(self) -> str:
        return "UTC (UTC+0000)"

    def advance(self, seconds: float) -> None:
        assert seconds >= 0
        self._monotonic += seconds
        self._wall_ns += int(seconds * 1e9)

    def set_wall_ns(self, wall_ns: int) -> None:
        self._wall_ns = wall_ns
