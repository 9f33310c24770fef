"""What work costs, measured so that neither a busy machine nor a long test run changes the verdict."""

import gc
import os
import time

TRIES = 8
# What is too short to be measured: nothing that takes less is called slow.
FLOOR_SECONDS = 0.02


def cpu_seconds(work) -> float:
    """Return the processor time of this thread alone, without the collector, which looks at what other tests left."""
    gc.disable()
    try:
        before = time.thread_time()
        work()
        return time.thread_time() - before
    finally:
        gc.enable()


def open_descriptors() -> int:
    """Return how many descriptors this process has open, without those that earlier tests have left behind."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def costs_less_than(seconds, work, tries=TRIES) -> bool:
    """Whether `work` costs less; a busy machine can take time from a try or two, dear work takes it from each."""
    return any(cpu_seconds(work) < seconds for _ in range(tries))


def is_linear(work, small, tries=TRIES) -> bool:
    """Whether `work(4 * small)` costs no more than about four times `work(small)`: a square law costs sixteen times.

    The small is measured right before and behind the large, each time anew: a processor is not as fast all the time.
    """

    def is_in_proportion():
        before = cpu_seconds(lambda: work(small))
        large = cpu_seconds(lambda: work(4 * small))
        least = min(before, cpu_seconds(lambda: work(small)))
        return large < 9 * max(least, FLOOR_SECONDS)

    return any(is_in_proportion() for _ in range(tries))
