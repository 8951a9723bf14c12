"""Looks at the finished pages of a site: every link and anchor leads somewhere, and nothing comes from another host."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, and not only when a reader follows it.
LOADED = {
    ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("embed", "src"),
    ("object", "data"), ("use", "href"), ("image", "href"),
}  # fmt: skip
LOADING_RELATIONS = {
    "stylesheet", "icon", "preconnect", "preload", "modulepreload", "prefetch", "dns-prefetch", "manifest",
}  # fmt: skip


class Page(HTMLParser):
    """The names, links and loaded things of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "link":
            if LOADING_RELATIONS & set(given.get("rel", "").split()):
                self.loaded.append(given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loaded += [given[name] for name in ("src", "href", "data") if (tag, name) in LOADED and name in given]


def problems(site: Path) -> list[str]:
    """What is wrong with the links of a site, a line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        shown = path.relative_to(site)
        if path.name == "404.html":
            continue  # shown at any address, so its links are those of the published site
        found += [f"{shown}: loads {each}" for each in page.loaded if urlsplit(each).netloc]
        for link in dict.fromkeys([*page.links, *page.loaded]):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.is_relative_to(site.resolve()) or not target.exists():
                found.append(f"{shown}: leads nowhere: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                found.append(f"{shown}: no such place: {link}")
    return found
