"""Feeds sbatchlint damaged input, and keeps what makes it fail, hang or take too much memory.

    python tools/fuzz.py [--target NAME] [--seconds N] [--seed N] [--engine mutate|atheris] [--keep FOLDER] [FOLDER]...

The folders hold scripts to damage (examples and the cases of the checks without any). `mutate` needs nothing else;
`atheris` (pip install atheris) is guided by coverage. What fails is written to `--keep`;
once repaired, it belongs into tests/test_fuzz.py.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from damage import TARGETS, damaged, seeds_of  # noqa: E402  (tests/ is added above)

SECONDS = 10.0
WAIT = 600  # seconds until an input that takes no CPU hangs
MEMORY = 1 << 30
LITTLE = 200  # megabytes that are nothing to speak of
LARGEST = 100_000
THRESHOLD = gc.get_threshold()


def memory() -> float:
    """The megabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))


class Hang(BaseException):
    """The time for one input is over. No `except Exception` may hold it back."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {seconds:g} s of CPU")

    def waited(number: int, frame: FrameType | None) -> None:
        raise Hang(f"no end after {WAIT} s")

    before = signal.signal(signal.SIGPROF, over), signal.signal(signal.SIGALRM, waited)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])


def place_of(error: BaseException) -> str:
    """The innermost line of the project, but for this file; of a fault, that of its first line."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [each for each in frames if str(ROOT) in each.filename and each.filename != __file__] or frames
    if isinstance(error, AssertionError):
        return str(error).partition("\n")[0]
    return f"{Path(inner[-1].filename).name}:{inner[-1].lineno}"


class Collector:
    """Runs inputs and keeps the failing ones, one for each place that fails."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.target: Callable[[bytes], object] = TARGETS[name]
        self.folder = folder
        self.runs = 0
        self.seen: set[str] = set()
        self.slowest = 0.0
        self.most = LITTLE

    def run(self, data: bytes) -> None:
        self.runs += 1
        start = time.process_time()
        try:
            with limited(SECONDS):
                self.target(data)
        except (Exception, Hang) as error:
            self.keep(data, f"{type(error).__name__} at {place_of(error)}", error)
            return
        finally:
            gc.unfreeze()  # each call of the program freezes what is there, as if it were the last one,
            gc.set_threshold(*THRESHOLD)  # and a server lets many objects gather
            if self.runs % 100 == 0:
                gc.collect()  # what was frozen is old then, and seldom looked for
        took = time.process_time() - start
        if took > max(2 * self.slowest, 1.0):
            self.slowest = took
            self.keep(data, f"{took:.1f} s", None)
        most = memory()
        if most > 1.5 * self.most:
            self.keep(data, f"{most:.0f} MB", None)
        self.most = max(self.most, most)

    def keep(self, data: bytes, what: str, error: BaseException | None) -> None:
        if what in self.seen:
            return
        self.seen.add(what)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self.name}-{hashlib.sha256(data).hexdigest()[:12]}"
        path.write_bytes(data)
        shown = f": {error}" if error is not None else ""
        print(f"{path}: {what}{shown}"[:300], flush=True)
        if error is not None:
            path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


def mutate(collector: Collector, seeds: Sequence[bytes], seconds: float, seed: int) -> None:
    draw = random.Random(seed)
    end = time.process_time() + seconds
    while time.process_time() < end:
        collector.run(damaged(draw, seeds)[:LARGEST])


def follow_coverage(collector: Collector, seeds: Sequence[bytes], seconds: float, seed: int) -> None:
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris, or use --engine mutate")
    corpus = collector.folder / f"corpus-{collector.name}"
    corpus.mkdir(parents=True, exist_ok=True)
    for start in seeds:
        if len(start) < LARGEST:
            (corpus / hashlib.sha256(start).hexdigest()[:16]).write_bytes(start)

    def mutator(data: bytes, most: int, number: int) -> bytes:
        draw = random.Random(number)
        if draw.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return damaged(draw, [data, draw.choice(seeds)])[:most]

    atheris.instrument_all()
    arguments = [f"-max_total_time={seconds:.0f}", f"-max_len={LARGEST}", f"-seed={seed + 1}", "-timeout=60"]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], collector.run, custom_mutator=mutator)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--engine", choices=["mutate", "atheris"], default="mutate")
    parser.add_argument("--seconds", type=float, default=60, help="of CPU for each target (default: 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"), help="where failing inputs are written")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))  # addresses, of which some are never touched
    failed = 0
    for name in TARGETS if options.target == "all" else [options.target]:
        collector = Collector(name, options.keep)
        seeds = seeds_of(name, options.folders)
        if options.engine == "atheris":
            follow_coverage(collector, seeds, options.seconds, options.seed)  # does not return
        mutate(collector, seeds, options.seconds, options.seed)
        print(f"{name}: {collector.runs} inputs, {len(collector.seen)} kept, at most {memory():.0f} MB", flush=True)
        failed += len(collector.seen)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
