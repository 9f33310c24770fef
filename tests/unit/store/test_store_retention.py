"""How far back history reaches."""

from indexerd.model import History
from indexerd.store.manifest import FileRef
from indexerd.store.retention import history_limit_bytes, on_schedule, plan_retention
from indexerd.store.slots import Change, KeptGeneration

RECENT = History().generations
SECOND, MINUTE, HOUR, DAY = 10**9, 60 * 10**9, 3600 * 10**9, 24 * 3600 * 10**9
START = 1_700_000_000 * SECOND


def kept(number: int, at_ns: int, pinned_until_ns: int = 0) -> KeptGeneration:
    return KeptGeneration(number, FileRef(number, bytes(16), 100), at_ns, Change(), pinned_until_ns)


def one_file_each(generation: int) -> dict[str, int]:
    return {f"segment {generation}": 100}


def simulate(seconds: int, step: int) -> tuple[list[KeptGeneration], int]:
    """Publish every `step` seconds, dropping after each what is not kept."""
    alive: list[KeptGeneration] = []
    now = START
    for number in range(1, seconds // step + 1):
        now = START + number * step * SECOND
        alive.append(kept(number, now))
        keep = on_schedule(alive, now)
        alive = [one for one in alive if one.generation in keep]
    return alive, now


def test_the_last_generations_are_all_kept():
    """The newest 64 are kept however quickly they came."""
    alive, _ = simulate(200, 1)
    assert [one.generation for one in alive[-RECENT:]] == list(range(200 - RECENT + 1, 201))


def test_an_hour_of_typing_keeps_one_a_minute():
    """After an hour at one save a second the last minute is there whole and each minute before has one."""
    alive, now = simulate(3600, 1)
    minutes = {one.published_at_ns // MINUTE for one in alive}
    assert len(minutes) >= 59
    assert len(alive) <= RECENT + 62
    assert now - alive[0].published_at_ns >= HOUR - 2 * MINUTE


def test_a_day_keeps_one_an_hour_and_a_month_one_a_day():
    """What is older than an hour thins out to hours, what is older than a day to days, up to 30."""
    alive, now = simulate(40 * 24 * 3600, 600)
    older = [one for one in alive if now - one.published_at_ns > DAY]
    assert 26 <= len(older) <= 31
    assert now - alive[0].published_at_ns <= 30 * DAY
    assert len({one.published_at_ns // HOUR for one in alive if now - one.published_at_ns <= DAY}) >= 23


def test_each_setting_of_the_schedule_counts_for_itself():
    """A schedule of days keeps no hours, one of the newest two keeps two, and one of nothing keeps nothing."""
    alive = [kept(number, START + number * HOUR) for number in range(1, 200)]
    now = START + 200 * HOUR
    off = {"generations": 0, "minutes": 0, "hours": 0, "days": 0}
    assert on_schedule(alive, now, History(**off)) == frozenset()
    assert on_schedule(alive, now, History(**off | {"generations": 2})) == {198, 199}
    assert on_schedule(alive, now, History(**off | {"hours": 5})) == {196, 197, 198, 199}
    days = on_schedule(alive, now, History(**off | {"days": 3}))
    assert len(days) == 4
    assert {number % 24 for number in sorted(days)[:-1]} == {min(days) % 24}
    assert plan_retention(alive, now, one_file_each, 10**6, History(**off)) == {199}


def test_pinned_generations_are_kept_until_their_time():
    """What evidence named stays although the schedule would drop it, and goes when its time is over."""
    alive = [kept(1, START, START + 30 * DAY), *(kept(number, START + number) for number in range(2, 200))]
    assert 1 in plan_retention(alive, START + 3 * HOUR, one_file_each, 10**6)
    assert 1 not in plan_retention(alive, START + 31 * DAY, one_file_each, 10**6)


def test_the_limit_drops_the_oldest_first_and_spares_pinned_ones_longest():
    """Files that only older generations name count, and what does not fit goes from the oldest on."""
    alive = [kept(1, START, START + DAY), *(kept(number, START + number) for number in range(2, 11))]
    assert plan_retention(alive, START + SECOND, one_file_each, 350) == {1, 8, 9, 10}
    assert plan_retention(alive, START + SECOND, one_file_each, 50) == {10}


def test_steps_of_a_first_index_are_no_history():
    """Only the newest one stays, and one that evidence named; complete generations stay as ever."""
    steps = [kept(number, START + number)._replace(partial=True) for number in range(1, 4)]
    pinned = steps[0]._replace(pinned_until_ns=START + DAY)
    assert plan_retention(steps, START + SECOND, one_file_each, 10**6) == {3}
    whole = [pinned, *steps[1:], kept(4, START + 4), kept(5, START + 5)]
    assert plan_retention(whole, START + SECOND, one_file_each, 10**6) == {1, 4, 5}


def test_files_of_the_newest_generation_cost_nothing():
    """A generation that differs by one small file is as cheap as that file."""
    alive = [kept(number, START + number) for number in range(1, 6)]
    shared = lambda number: {"base": 10**9, f"small {number}": 10}  # noqa: E731
    assert len(plan_retention(alive, START + SECOND, shared, 40)) == 5


def test_no_history_keeps_the_newest_alone():
    """With the setting at 0 nothing but the current generation is kept, pinned or not."""
    alive = [kept(1, START, START + DAY), kept(2, START), kept(3, START)]
    assert plan_retention(alive, START, lambda _: {}, history_limit_bytes(10**9, 0)) == {3}


def test_a_clock_that_jumps_back_drops_nothing_new():
    """Generations from the future of a clock that was set back are kept as recent ones."""
    alive = [kept(number, START + DAY) for number in range(1, 10)]
    assert len(on_schedule(alive, START)) == 9
