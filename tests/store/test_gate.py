"""The regression gate on synthetic nights, and its rules one by one."""

import numpy as np
import pytest
from nights import points

from bench.store.gate import Judgement, Point, Rule, drift, judge

MADS = [0.005, 0.01, 0.02, 0.03]


def steady(nights, median=1000.0, mad=5.0, count=100):
    return [Point(median, mad, count)] * nights


def statuses(points, rule=None):
    return [judgement.status for judgement in judge(points, rule)]


@pytest.mark.parametrize("mad", MADS)
@pytest.mark.parametrize("between", [0.0, 0.002, 0.01])
def test_at_most_one_false_alarm_in_a_hundred_unchanged_nights(mad, between):
    random = np.random.default_rng(20)
    for _ in range(10):
        nights = points(random, 20000, mad, 107, between=between)
        assert statuses(nights)[7:].count("regression") <= 1


@pytest.mark.parametrize("mad", MADS)
@pytest.mark.parametrize("start", [8, 40])
def test_a_slow_down_of_five_percent_is_caught(mad, start):
    random = np.random.default_rng(21)
    caught = 0
    for _ in range(100):
        nights = points(random, 20000, mad, start)
        nights += points(random, 20000 * 1.05, mad, 1)
        caught += statuses(nights)[-1] == "regression"
    assert caught >= 95


@pytest.mark.parametrize("mad", MADS)
def test_five_percent_above_the_limit_is_caught_on_restless_boards(mad):
    # Whole nights scatter by `mad` as well: the gate says how far it sees, and sees that far.
    random = np.random.default_rng(22)
    caught = 0
    for _ in range(100):
        nights = points(random, 20000, mad, 40, between=mad / 4)
        limit = judge(nights)[-1].threshold
        nights += points(random, 20000 * (1.05 + limit), mad, 1, between=mad / 4)
        caught += statuses(nights)[-1] == "regression"
    assert caught >= 95


def test_fewer_nights_than_needed_are_not_judged():
    rule = Rule()
    found = judge(steady(rule.min_nights + 1))
    assert [j.status for j in found] == ["not-judged"] * rule.min_nights + ["ok"]
    assert found[2].reason == "2 of 5 needed passing nights before"


def test_fewer_samples_than_needed_are_not_judged_and_no_baseline():
    few = Point(2000.0, 5.0, 29)
    found = judge([*[few] * 10, *steady(6), few])
    assert [j.status for j in found] == ["not-judged"] * 15 + ["ok", "not-judged"]
    assert found[-1].reason == "29 of 30 needed samples"


def test_wrong_outputs_are_not_judged_and_no_baseline():
    wrong = Point(500.0, 5.0, 100, right=False)
    found = judge([*steady(6), *[wrong] * 20, *steady(1)])
    assert {j.status for j in found[6:26]} == {"not-judged"}
    assert found[26].status == "ok"
    assert found[26].baseline == 1000


def test_unfinished_nights_are_judged_and_no_baseline():
    cut = Point(500.0, 5.0, 100, finished=False)
    found = judge([*steady(6), *[cut] * 20, *steady(1)])
    assert {j.status for j in found[6:26]} == {"improved"}
    assert (found[26].status, found[26].baseline) == ("ok", 1000)


def test_a_step_of_the_clock_is_no_change():
    tiny, stepped, slower = (Point(ticks, 0.0, 100) for ticks in (30.0, 49.0, 52.0))
    found = judge([*[tiny] * 8, stepped, slower])
    assert [j.status for j in found[8:]] == ["ok", "regression"]
    assert found[8].threshold == pytest.approx(20 / 30)


def test_a_regression_stays_one_until_it_is_gone():
    slow = Point(1100.0, 5.0, 100)
    found = judge([*steady(8), *[slow] * 50, *steady(1)])
    assert {j.status for j in found[8:58]} == {"regression"}
    assert all(j.baseline == 1000 for j in found[8:58])
    assert found[58].status == "ok"


def test_baseline_is_the_median_of_the_last_nights():
    medians = [900.0] * 20 + [990.0, 1000, 1001, 1002, 1003, 1004, 1030]
    rule = Rule(relative=10)
    found = judge([Point(m, 1.0, 100) for m in [*medians, 1002]], rule)
    assert found[-1].baseline == 1002
    assert found[-1].change == 0


def test_both_the_change_and_the_noise_must_be_exceeded():
    random = np.random.default_rng(4)
    # Quiet: 2.9 % is far outside the noise but too small to matter.
    assert statuses([*steady(10, mad=0.1), Point(1029.0, 0.1, 100)])[-1] == "ok"
    assert statuses([*steady(10, mad=0.1), Point(1031.0, 0.1, 100)])[-1] == "regression"
    # Noisy between nights: 8 % matters but nights differ as much anyway.
    restless = [Point(1000 * (1 + s), 1.0, 100) for s in random.normal(0, 0.03, 30)]
    assert judge([*restless, Point(1080.0, 1.0, 100)])[-1].status == "ok"
    # Noisy within the night: the median itself is uncertain.
    assert statuses([*steady(10), Point(1080.0, 200.0, 100)])[-1] == "ok"
    assert statuses([*steady(10), Point(1080.0, 2.0, 100)])[-1] == "regression"


def test_a_drift_or_an_old_step_does_not_blunt_the_gate():
    drifting = [Point(1000 * (1 + 0.002 * i), 1.0, 100) for i in range(40)]
    now = drifting[-1].median * 1.06
    assert judge([*drifting, Point(now, 1.0, 100)])[-1].status == "regression"
    stepped = [*steady(20, 1000.0), *steady(20, 700.0)]
    assert judge([*stepped, Point(735.0, 1.0, 100)])[-1].status == "regression"


def test_improvements_are_reported_and_become_the_baseline():
    found = judge([*steady(10), *steady(10, 900.0), Point(1000.0, 5.0, 100)])
    assert found[10].status == "improved"
    assert found[10].change == pytest.approx(-0.1)
    assert found[19].status == "ok"
    assert found[20].status == "regression"


def test_no_baseline_below_the_clock():
    assert judge(steady(7, median=0.0))[-1].status == "not-judged"
    assert judge([*steady(7), Point(0.0, 0.0, 100)])[-1].status == "improved"


def test_slow_drift_is_reported_though_every_night_passes():
    random = np.random.default_rng(9)
    nights = [points(random, 20000 * (1 + 0.001 * i), 0.01, 1)[0] for i in range(60)]
    found = judge(nights)
    assert "regression" not in {j.status for j in found}
    seen = drift(nights, found)
    assert seen is not None
    assert seen.total == pytest.approx(0.059, abs=0.015)
    assert seen.nights == 60


def test_no_drift_on_unchanged_nights_nor_on_improving_ones():
    random = np.random.default_rng(10)
    for mad in MADS:
        for _ in range(10):
            nights = points(random, 20000, mad, 60, between=mad / 5)
            assert drift(nights, judge(nights)) is None
    faster = [Point(1000.0 - 2 * i, 1.0, 100) for i in range(60)]
    assert drift(faster, judge(faster)) is None
    assert drift(steady(9), [Judgement("ok")] * 9) is None


def test_one_wild_night_is_no_drift():
    nights = [*steady(20), Point(1029.0, 5.0, 100)]
    assert drift(nights, judge(nights)) is None


def test_a_rise_too_small_to_matter_is_no_drift():
    nights = [Point(1000 + 0.2 * i, 5.0, 100) for i in range(60)]
    assert drift(nights, judge(nights)) is None


def test_a_rise_that_may_be_chance_is_no_drift():
    # Theil-Sen finds 13 % in these ten nights, Mann-Kendall only two standard deviations.
    medians = [100.0, 130, 90, 135, 95, 140, 100, 145, 105, 150]
    nights = [Point(m, 0.1, 100) for m in medians]
    found = [Judgement("ok")] * 10
    assert drift(nights, found) is None
    assert drift(sorted(nights, key=lambda p: p.median), found) is not None


def test_the_smallest_rule_can_be_computed():
    rule = Rule(nights=1, min_nights=3, min_samples=1, spread_nights=3, drift_nights=2)
    nights = [*steady(3, count=1), Point(1200.0, 0.0, 1)]
    found = judge(nights, rule)
    assert [j.status for j in found] == ["not-judged"] * 3 + ["regression"]
    assert drift(nights, found, rule) is None
