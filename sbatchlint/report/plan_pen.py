"""Drawing of plans: SVG boxes, lines and texts, and their styles."""

from html import escape as markup
from typing import NamedTuple

from sbatchlint.report.cells import escape
from sbatchlint.report.cells import wrap as wrap_words
from sbatchlint.report.plan_view import broken

# The width of a character in fixed-width fonts of 12 pixels, rounded up.
CHARACTER = 7.4
LINE = 18

STYLE = """\
svg.plan { color-scheme: light dark; font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
svg.plan text { fill: #1b2330; }
svg.plan .title { font-size: 15px; font-weight: bold; }
svg.plan .strong { font-weight: bold; }
svg.plan .dim { fill: #566173; }
svg.plan .middle { text-anchor: middle; }
svg.plan .page { fill: #ffffff; }
svg.plan .band { fill: #f6f7f9; stroke: #c9d0da; }
svg.plan .node { fill: #ffffff; stroke: #7b8798; }
svg.plan .refused { fill: #fdecee; stroke: #b3001b; }
svg.plan .unused, svg.plan .unknown { fill: none; stroke: #7b8798; stroke-dasharray: 5 4; }
svg.plan .task { fill: #dfeafd; stroke: #3f6fbf; }
svg.plan .process { fill: #ffffff; stroke: #3f6fbf; }
svg.plan .gpu { fill: #d8f1dc; stroke: #2f7d43; }
svg.plan .bar { fill: #2f7d43; }
svg.plan .process.twice, svg.plan .gpu.twice { fill: #ffe3b3; stroke: #a86200; }
svg.plan .bar.twice { fill: #a86200; }
svg.plan .rule { stroke: #c9d0da; }
svg.plan text.error { fill: #b3001b; font-weight: bold; }
svg.plan rect.error { fill: #b3001b; }
svg.plan text.warning { fill: #8a5200; font-weight: bold; }
svg.plan rect.warning { fill: #c77700; }
@media (prefers-color-scheme: dark) {
svg.plan text { fill: #e4e8ef; }
svg.plan .dim { fill: #a3adbd; }
svg.plan .page { fill: #12161d; }
svg.plan .band { fill: #1a2029; stroke: #3b4554; }
svg.plan .refused { fill: #341419; stroke: #ff8a94; }
svg.plan .node { fill: #12161d; stroke: #8a96a8; }
svg.plan .unused, svg.plan .unknown { stroke: #8a96a8; }
svg.plan .task { fill: #1e3357; stroke: #7da6ec; }
svg.plan .process { fill: #12161d; stroke: #7da6ec; }
svg.plan .gpu { fill: #173a21; stroke: #6cc383; }
svg.plan .bar { fill: #6cc383; }
svg.plan .process.twice, svg.plan .gpu.twice { fill: #553a0c; stroke: #ffb14a; }
svg.plan .bar.twice { fill: #ffb14a; }
svg.plan .rule { stroke: #3b4554; }
svg.plan text.error { fill: #ff8a94; }
svg.plan rect.error { fill: #ff5c6c; }
svg.plan text.warning { fill: #ffc069; }
svg.plan rect.warning { fill: #ffb14a; }
}
"""


class Drawn(NamedTuple):
    """A part of a picture, drawn from y = 0; `height` in pixels."""

    body: str
    height: float


class Pen:
    """Collects SVG elements, with coordinates in pixels; texts are escaped here, and only here."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def body(self) -> str:
        return "".join(self.parts)

    def box(self, x: float, y: float, width: float, height: float, kind: str, radius: int = 4) -> None:
        sizes = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        self.parts.append(f'<rect class="{kind}" {sizes} rx="{radius}"/>\n')

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text{named} x="{number(x)}" y="{number(y)}">{written(text)}</text>\n')

    def rule(self, x: float, y: float, width: float) -> None:
        ends = f'x1="{number(x)}" x2="{number(x + width)}" y1="{number(y)}" y2="{number(y)}"'
        self.parts.append(f'<line class="rule" {ends}/>\n')

    def paragraph(self, x: float, y: float, text: str, width: float, kind: str) -> float:
        """Draws lines of text from y on; returns the y after them."""
        for line in lines(text, width):
            self.text(x, y + 13, line, kind)
            y += LINE
        return y

    def place(self, x: float, y: float, drawn: Drawn) -> None:
        self.parts.append(f'<g transform="translate({number(x)} {number(y)})">\n{drawn.body}</g>\n')


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def written(text: str) -> str:
    return markup(escape(text))


def lines(text: str, width: float) -> list[str]:
    most = int(width / CHARACTER)
    return wrap_words(broken(text, most), most)


def fitting(text: str, width: float) -> str:
    most = max(int(width / CHARACTER), 1)
    text = escape(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def plain(text: str) -> str:
    """Markup in ASCII, independent of the encoding of the output."""
    return text.encode("ascii", "xmlcharrefreplace").decode()
