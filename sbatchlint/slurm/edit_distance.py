"""The edit distance of two words."""

# From this difference in length on, the exact distance does not matter.
FAR = 3


def edit_distance(first: str, second: str) -> int:
    """The number of insertions, deletions, substitutions and swaps of adjacent letters between two words.

    If their lengths differ by `FAR` or more, the difference of their lengths, which is a lower bound.
    """
    if abs(len(first) - len(second)) >= FAR:
        return abs(len(first) - len(second))
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
