"""How far two words are apart."""

# Nobody asks for the exact distance of words whose lengths differ by as much.
FAR = 3


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words.

    Where their lengths differ by `FAR` or more it is that difference: there are no fewer.
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
