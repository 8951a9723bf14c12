"""The playground of the site, in a real browser: it answers there, and nothing leaves the page.

The site is built by tools/site/build.py; SBATCHLINT_SITE names its folder, as .ci/run does. Chromium is spoken to over
a pair of pipes by its own protocol, so that no package is needed.
"""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from test_plan_browser import browser

SITE = os.environ.get("SBATCHLINT_SITE", "")
PATIENCE = 240  # seconds until Python runs in the browser, on a machine that does a lot besides
pytestmark = pytest.mark.slow

LATE = "#!/bin/bash\n#SBATCH --nodes=2\nmodule load gcc\n#SBATCH --time=1:00:00\nsrun ./a\n"
OLD = "#!/bin/bash\n#SBATCH --nodes =2\n#SBATCH --time=1:00:00\nsrun ./a  # über 😀\n"

# What the content security policy refuses to ask for.
REFUSED = """new Promise((found) => {
  addEventListener("securitypolicyviolation", (event) => found(event.blockedURI));
  fetch("https://example.org/").catch(() => setTimeout(() => found("another reason"), 20000));
})"""


class Handler(http.server.SimpleHTTPRequestHandler):
    asked: list[str] = []
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, *arguments: object) -> None:
        self.asked.append(self.path)


class Chromium:
    """A browser with one page. `requests`: the addresses that it asked for, in the page and in its workers."""

    def __init__(self, folder: Path) -> None:
        # it reads commands from 3 and writes to 4, NUL after each
        reads, self._writes = os.pipe()
        self._reads, writes = os.pipe()
        options = (
            "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
            "--disable-sync --disable-dev-shm-usage --no-first-run --remote-debugging-pipe --window-size=1400,1400"
        )
        # a shell puts the pipes where they belong
        shell = f'exec "$0" "$@" 3<&{reads} 4>&{writes}'
        command = ["bash", "-c", shell, browser(), *options.split(), f"--user-data-dir={folder / 'profile'}"]
        self._process = subprocess.Popen(
            command, pass_fds=(reads, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(folder)},
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self._buffer = b""
        self._number = 0
        self.requests: list[str] = []
        self.workers: list[str] = []
        self.said: list[str] = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.page = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._watch(self.page)

    def __call__(self, method: str, session: str = "", **given: object) -> Any:
        number = self._send(method, session, **given)
        while True:
            message = self._read()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def evaluate(self, expression: str, session: str = "") -> Any:
        done = self(
            "Runtime.evaluate", session or self.page, expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, expression: str, patience: float = 240) -> None:
        end = time.monotonic() + patience
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, (expression, self.evaluate("document.body.innerText")[-1500:], self.said)
            time.sleep(0.2)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._writes)
        os.close(self._reads)

    def _watch(self, session: str) -> None:
        for method in ("Network.enable", "Runtime.enable"):
            self._send(method, session)
        self._send("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self._send("Runtime.runIfWaitingForDebugger", session)

    def _send(self, method: str, session: str = "", **given: object) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": given}
        if session:
            message["sessionId"] = session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        return self._number

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._reads, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        given = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])
            case "Target.attachedToTarget" if given["sessionId"] != getattr(self, "page", ""):
                self.workers.append(given["sessionId"])
                self._watch(given["sessionId"])
            case "Runtime.exceptionThrown":
                self.said.append(str(given["exceptionDetails"]))
        return message


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if not (Path(SITE) / "assets" / "playground" / "sbatchlint.whl").is_file() or not SITE:
        pytest.skip("SBATCHLINT_SITE names no site with a playground")
    handler = functools.partial(Handler, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = Chromium(tmp_path_factory.mktemp("browser"))
        try:
            address = f"http://127.0.0.1:{server.server_port}/playground/"
            found("Page.navigate", found.page, url=address)
            found.wait("document.querySelector('#try-it')?.dataset.answered", PATIENCE)
            yield found
        finally:
            found.close()
            server.shutdown()


def put(chromium: Chromium, text: str) -> None:
    """Types a script, and waits for what is said of it."""
    before = chromium.evaluate("document.querySelector('#try-it').dataset.answered")
    chromium.evaluate(f"script.value = {json.dumps(text)}; script.dispatchEvent(new Event('input')); 0")
    chromium.wait(f"Number(document.querySelector('#try-it').dataset.answered) > {before}")


def shown(chromium: Chromium) -> list[str]:
    found: list[str] = chromium.evaluate("[...document.querySelectorAll('#findings li')].map((each) => each.innerText)")
    return found


def test_it_begins_with_an_example(chromium: Chromium) -> None:
    (finding,) = shown(chromium)
    assert finding.startswith("error") and "64 processes" in finding and "SB301" in finding
    assert chromium.evaluate("picture.decode().then(() => picture.naturalWidth)") > 300
    assert chromium.evaluate("document.querySelector('h1').innerText").startswith("Playground")
    assert "2 nodes" in chromium.evaluate("plan.textContent")
    # until there is a plan, nothing of it is shown
    told = "document.querySelector('#try-it details')"
    hidden = f"{told}.hidden = true, getComputedStyle({told}).display"
    assert chromium.evaluate(hidden) == "none"
    chromium.evaluate(f"{told}.hidden = false; 0")


def test_a_script_and_its_fix(chromium: Chromium) -> None:
    put(chromium, OLD)
    (finding,) = shown(chromium)
    assert "SB108" in finding and "2:9" in finding
    (link,) = chromium.evaluate("[...document.querySelectorAll('#findings a')].map((each) => each.href)")
    assert chromium.evaluate(f"fetch({link!r}).then((each) => each.status)") == 200
    chromium.evaluate("document.querySelector('#findings .at').click()")
    assert chromium.evaluate("script.value.slice(script.selectionStart, script.selectionEnd)") == "--nodes =2"
    before = chromium.evaluate("document.querySelector('#try-it').dataset.answered")
    chromium.evaluate("fix.click()")
    chromium.wait(f"Number(document.querySelector('#try-it').dataset.answered) > {before}")
    assert chromium.evaluate("script.value") == OLD.replace("nodes =", "nodes=")
    assert shown(chromium) == [] and chromium.evaluate("fix.disabled")
    put(chromium, OLD)
    chromium.evaluate("document.querySelector('#findings .apply').click()")
    chromium.wait("document.querySelectorAll('#findings li').length == 0")
    assert chromium.evaluate("script.value") == OLD.replace("nodes =", "nodes=")


def test_what_stands_in_a_script_is_text(chromium: Chromium) -> None:
    put(chromium, "#!/bin/bash\n#SBATCH --<img/src=x/onerror=document.title=1>=2\nsrun ./a '<script>'\n")
    assert any("<img/src" in each for each in shown(chromium))
    assert chromium.evaluate("document.querySelectorAll('#findings img, #findings script').length") == 0


def test_the_release_counts(chromium: Chromium) -> None:
    put(chromium, "#!/bin/bash\n#SBATCH --nodes=1 --exclusive=topo\nsrun ./a\n")
    chromium.evaluate("version.value = '23.11'; version.dispatchEvent(new Event('change')); 0")
    chromium.wait("document.querySelector('#findings')?.innerText.includes('topo')")
    chromium.evaluate("version.value = '25.05'; version.dispatchEvent(new Event('change')); 0")
    chromium.wait("!document.querySelector('#findings').innerText.includes('topo')")


def test_nothing_leaves_the_page(chromium: Chromium) -> None:
    """Linting, fixing and sharing ask nobody for anything, and the policy would not let them."""
    own = chromium.evaluate("location.origin")
    asked = len(Handler.asked)
    put(chromium, LATE + "# a word that nobody is to see: quokka\n")
    assert any("SB101" in each for each in shown(chromium))
    chromium.evaluate("share.click()")
    chromium.wait("location.hash.startsWith('#script=')")
    link = chromium.evaluate("location.href")
    assert Handler.asked[asked:] == []
    chromium.evaluate("history.replaceState(null, '', location.pathname)")
    put(chromium, "#!/bin/bash\n")
    chromium.evaluate(f"location.hash = new URL({link!r}).hash; 0")
    chromium.wait("script.value.includes('quokka')")
    assert Handler.asked[asked:] == []
    outside = [each for each in chromium.requests if not each.startswith((own, f"blob:{own}", "data:", "about:"))]
    assert outside == []
    # the search of the site has a worker as well
    (own_worker,) = [each for each in chromium.workers if chromium.evaluate("location.protocol", each) == "blob:"]
    for session in (chromium.page, own_worker):
        assert chromium.evaluate(REFUSED, session).startswith("https://example.org")
    assert chromium.said == []


def test_pictures_of_it(chromium: Chromium) -> None:
    """Nothing sticks out, on a wide page and on that of a telephone; SBATCHLINT_PICTURES keeps what was seen."""
    put(chromium, LATE)
    for width in (1400, 500):
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            chromium("Emulation.setEmulatedMedia", chromium.page, features=features)
            size = {"width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": False}
            chromium("Emulation.setDeviceMetricsOverride", chromium.page, **size)
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width
            folder = os.environ.get("SBATCHLINT_PICTURES")
            if folder:
                taken = chromium("Page.captureScreenshot", chromium.page)["data"]
                Path(folder, f"playground-{width}-{scheme}.png").write_bytes(base64.b64decode(taken))


def test_no_page_is_wider_than_a_telephone(chromium: Chromium) -> None:
    """Wide tables and terminals are scrolled inside of their frames."""
    own = chromium.evaluate("location.origin")
    chromium(
        "Emulation.setDeviceMetricsOverride", chromium.page, width=500, height=900, deviceScaleFactor=1, mobile=False
    )
    for path in ("", "symptoms/", "settings/", "compare/", "plan/", "checks/", "checks/launcher-tasks-per-node/"):
        chromium("Page.navigate", chromium.page, url=f"{own}/{path}")
        chromium.wait(f"location.pathname === '/{path}' && document.readyState === 'complete'")
        assert chromium.evaluate("document.documentElement.scrollWidth") <= 500, path
    outside = [each for each in chromium.requests if each.startswith("http") and not each.startswith(own)]
    assert outside == ["https://example.org/"] * len(outside), "which a test asked for"


def test_the_home_page_is_searched(chromium: Chromium) -> None:
    own = chromium.evaluate("location.origin")
    chromium("Page.navigate", chromium.page, url=f"{own}/")
    chromium.wait("location.pathname === '/' && document.querySelector('.md-search__button')")
    assert chromium.evaluate("document.querySelector('.md-header img').decode().then(() => true)"), "the logo"
    dialog = "document.activeElement?.shadowRoot"
    chromium.wait(f"{dialog} || (document.querySelector('.md-search__button').click(), false)")
    chromium("Input.insertText", chromium.page, text="rendezvous")
    chromium.wait(f"{dialog}?.textContent.includes('(SB305)')")
