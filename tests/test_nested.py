"""Places in one another, against a search of all of them."""

import random

from sbatchlint.source.text import Nested, Span


def nested_spans(draw: random.Random, start: int, end: int, depth: int) -> list[Span]:
    found = []
    while start < end and depth:
        first = draw.randint(start, end)
        last = draw.randint(first, end)
        if last > first:
            found += [Span(first, last), *nested_spans(draw, first, last, depth - 1)]
        start = last + 1
    return found


def test_what_is_around_a_place() -> None:
    draw = random.Random(7)
    for _ in range(200):
        spans = [Span(0, 60), *nested_spans(draw, 0, 60, 5)]
        items = Nested((span, number) for number, span in enumerate(spans))
        for _ in range(20):
            first = draw.randint(0, 60)
            place = Span(first, draw.randint(first, 61))
            around = [number for number, span in enumerate(spans) if span.start <= first and place.end <= span.end]
            assert sorted(items.around(place)) == around, (spans, place)


def test_of_the_same_place_the_later_one_is_inside() -> None:
    place = Span(3, 9)
    assert list(Nested([(place, "outer"), (place, "inner"), (Span(0, 20), "all")]).around(place)) == [
        "inner", "outer", "all"
    ]  # fmt: skip
    assert list(Nested[str]([]).around(place)) == []
