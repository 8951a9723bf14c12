"""How much of a text is read."""

# Statements, words and parts of words that are read of one text: some twenty times what the longest real script has.
MOST_NODES = 200_000
# Elements of a pipeline, or of a list of `&&` and `||`.
MOST_CHAINED = 1_000
# Compound commands in one another: what they change costs as much at the end of each as there is of it.
MOST_NESTED = 24
# What the parser of a range costs, in nodes.
NODES_OF_A_RANGE = 8
# Copying this many characters for the parser of a range counts as a node.
CHARACTERS_OF_A_NODE = 1 << 14


class TextTooLong(Exception):
    """There is more in a text than is read."""


class Room:
    """How many nodes may still be read; shared by the parser of a text and those of its ranges."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_NODES

    def take(self, nodes: int) -> None:
        """Takes room for so many nodes; raises `TextTooLong` where there is not enough."""
        self.left -= nodes
        if self.left < 0:
            raise TextTooLong
