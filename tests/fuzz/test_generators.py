"""The generators that a process shares begin each run with the same numbers, and are seeded anew only where somebody has drawn."""

import random

import pytest

from pytest_gilcheck.core.classes import name_of_callable
from pytest_gilcheck.engine.running import generators, repeatable
from pytest_gilcheck.engine.running.generators import OfNumpy, OfRandom

from .programs import Counter, add_locked, counted, is_two

USES = {
    "a number": random.random,
    "a word": lambda: random.getrandbits(32),
    "as many numbers as a state has": lambda: [random.random() for _ in range(312)],
    "as many numbers as two states have": lambda: [random.random() for _ in range(624)],
    "another seed": lambda: random.seed(5),
    "another state": lambda: random.setstate(random.Random(5).getstate()),
}


@pytest.fixture(params=[True, False], ids=["by memory", "by state"])
def shown(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(generators, "_memory_shows_it", lambda: False)


@pytest.fixture
def generator(shown):
    made = OfRandom()
    yield made
    made.restore()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_whatever_a_run_takes_shows_and_the_next_run_begins_as_this_one(use, generator):
    assert not generator.used  # before any run
    generator.begin(7)
    assert not generator.used
    use()
    assert generator.used
    generator.begin(7)
    assert not generator.used
    assert random.random() == random.Random(7).random()


def test_a_half_used_pair_of_normal_numbers_is_not_left_to_the_next_run(generator):
    generator.begin(7)
    first = random.gauss(0, 1)
    generator.begin(7)
    assert random.gauss(0, 1) == first


def test_another_seed_gives_other_numbers(generator):
    generator.begin(7)
    generator.begin(8)
    assert random.random() == random.Random(8).random()


def test_after_the_check_the_generator_goes_on_where_it_was(shown):
    random.seed(3)
    expected = random.random()
    random.seed(3)
    made = OfRandom()
    made.begin(7)
    random.random()
    made.restore()
    assert random.random() == expected


def test_a_run_that_draws_nothing_seeds_nothing(generator, monkeypatch):
    seeds = []
    monkeypatch.setattr(generators, "_reseed", lambda generator, seed: seeds.append(seed))
    for _ in range(3):
        generator.begin(7)
    assert seeds == [7]


def test_runs_that_draw_and_runs_that_do_not_all_begin_with_the_numbers_of_their_draw(shown):
    drawn = []

    def draw_if_second(counter):
        if counter.value:
            drawn.append(random.random())
        add_locked(counter)

    name = name_of_callable(draw_if_second)
    of_each_draw = {random.Random(repeatable.seed_of(name, draw)).random() for draw in range(100)}
    counted(draw_if_second, draw_if_second, setup=Counter, invariant=is_two, schedules=60)
    assert len(drawn) > 10
    assert set(drawn) <= of_each_draw


def test_a_seed_has_no_more_bits_than_numpy_takes():
    largest = max((f"test_{number}" for number in range(2000)), key=lambda name: repeatable.seed_of(name, 0))
    assert max(repeatable.seed_of(largest, draw) for draw in range(repeatable.RENEWED)) < 1 << 32
    assert len({repeatable.seed_of(largest, draw) for draw in range(repeatable.RENEWED)}) == repeatable.RENEWED


@pytest.fixture
def of_numpy():
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("numpy.random")  # numpy imports it when it is asked for
    made = OfNumpy(generators.numpy_module())
    yield numpy, made
    made.restore()


def test_numpy_s_generator_begins_again_after_each_use(of_numpy):
    numpy, generator = of_numpy
    assert not generator.used
    for draw in (numpy.random.random, numpy.random.standard_normal, lambda: numpy.random.random(312)[-1]):
        generator.begin(7)
        assert not generator.used
        first = draw()
        assert generator.used
        generator.begin(7)
        assert draw() == first


def test_a_program_that_gives_numpy_another_generator_does_not_give_it_to_the_next_run(of_numpy):
    numpy, generator = of_numpy
    before = numpy.random.get_bit_generator()
    generator.begin(7)
    first = numpy.random.random()
    numpy.random.set_bit_generator(numpy.random.PCG64(3))
    assert generator.used
    generator.begin(7)
    assert numpy.random.get_bit_generator() is before
    assert numpy.random.random() == first


def test_numpy_s_generator_of_another_kind_begins_again_and_goes_on_where_it_was():
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("numpy.random")  # numpy imports it when it is asked for
    before = numpy.random.get_bit_generator()
    try:
        numpy.random.set_bit_generator(numpy.random.PCG64(3))
        expected = numpy.random.random()
        numpy.random.set_bit_generator(numpy.random.PCG64(3))
        generator = OfNumpy(generators.numpy_module())
        generator.begin(7)
        first = numpy.random.random()
        assert generator.used
        generator.begin(7)
        assert numpy.random.random() == first
        generator.begin(8)
        assert numpy.random.random() != first
        generator.restore()
        assert numpy.random.random() == expected
    finally:
        numpy.random.set_bit_generator(before)
