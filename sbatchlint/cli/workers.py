"""The processes that share the files of a run: none outlives it, and the death of one costs only its file."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from multiprocessing import Pipe, Process, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import Any

from sbatchlint.cli.outcome import STARVED, Outcome, starved

# Its first parts are the path and the bytes.
Script = tuple[Any, ...]
Work = Callable[[Script], Outcome]

# How often a worker asks whether its parent lives, and how long it may then take to finish what it is writing.
_ASKED_EVERY, _LEFT = 0.2, 0.5
# A worker that uses so much CPU time meanwhile, in seconds, and more for each byte of its script, as one regular
# expression may read all of it, does not ask any more: the interpreter may stay for ever where it has no memory left to
# raise the lack of it (CPython 3.11).
_SILENT, _SILENT_BYTE = 2.0, 1e-6
# So much CPU time a script may take, in seconds; the largest take minutes.
_LONGEST = 1800.0
# What ends a run, and its workers with it.
_ENDING = (signal.SIGTERM, signal.SIGHUP)
# After this many scripts a new process replaces one, whose memory has grown by what is between freed pieces.
_SCRIPTS = 2000


class _Worker:
    """A process, the connection to it, and the number and the path of the script that it works on."""

    def __init__(self, begin: Callable[[], Work]) -> None:
        self.connection, theirs = Pipe()
        try:
            self.process = Process(target=_serve, args=(theirs, begin), daemon=True)
            self.process.start()
        finally:
            theirs.close()  # so that its death ends the connection
        self.number = -1
        self.path = ""
        self.scripts = 0

    def give(self, number: int, script: Script) -> None:
        self.number = number
        self.path = script[0]
        self.scripts += 1
        try:
            self.connection.send(script)
        except OSError:
            pass  # it died; to receive tells the same

    def death(self) -> str:
        """How the process ended."""
        self.process.join(2 * _LEFT)
        self.process.kill()  # it may hang while it ends
        self.process.join()
        code = self.process.exitcode or 0
        if code == -signal.SIGKILL:
            return "the process that read it was killed, perhaps for lack of memory"
        if code == -signal.SIGPROF:
            return "the process that read it hung, perhaps for lack of memory"
        return f"the process that read it ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}"


def work_in_processes(scripts: Iterable[Script], jobs: int, begin: Callable[[], Work]) -> Iterator[tuple[int, Outcome]]:
    """The outcomes with the numbers of their scripts, as they are done. `begin` is called in each new process. A script
    is taken when a process is free for it.

    Raises what is raised for the first of the scripts for which something is.
    """
    waiting: Iterator[tuple[int, Script]] = iter(enumerate(scripts))
    workers: list[_Worker] = []
    raised: dict[int, Exception] = {}
    with _ending(workers):
        while True:
            while len(workers) < jobs and not raised and (script := next(waiting, None)) is not None:
                try:
                    workers.append(_Worker(begin))
                except OSError:  # there may not be more processes
                    if not workers:
                        raise
                    jobs = len(workers)
                    waiting = chain((script,), waiting)
                    break
                workers[-1].give(*script)
            if not workers:
                break
            by_connection = {worker.connection: worker for worker in workers}
            for connection in wait(list(by_connection)):
                assert isinstance(connection, Connection)
                worker = by_connection[connection]
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    problem = f"cannot lint {worker.path}: {worker.death()}"
                    yield worker.number, Outcome(worker.path, [], error=problem)
                    continue
                if isinstance(answer, Exception):
                    raised[worker.number] = answer
                else:
                    yield worker.number, answer
                # what has run out of memory once would do so for each of the others
                is_worn = worker.scripts >= _SCRIPTS or isinstance(answer, Outcome) and answer.out_of_memory
                script = None if raised or is_worn else next(waiting, None)
                if script is None:
                    workers.remove(worker)
                    worker.process.kill()  # it writes nothing now, and without memory it might not end by itself
                else:
                    worker.give(*script)
        if raised:
            raise raised[min(raised)]


@contextmanager
def _ending(workers: list[_Worker]) -> Iterator[None]:
    """Ends the workers at the end, also where a signal ends this process."""
    own = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own:  # not so in a worker that has only begun
            _end_all(workers)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    is_main = current_thread() is main_thread()
    caught = [each for each in _ENDING if is_main and signal.getsignal(each) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, end)
    try:
        yield
    finally:
        _end_all(workers)
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def _end_all(workers: list[_Worker]) -> None:
    """Ends workers, which may finish what they are writing."""
    for worker in workers:
        worker.process.terminate()
    end = time.monotonic() + _LEFT
    for worker in workers:
        worker.process.join(max(0.0, end - time.monotonic()))
    for worker in workers:
        worker.process.kill()  # where the exception that ends it was lost, as within a finalizer, or it hangs
    for worker in workers:
        worker.process.join()


def _serve(connection: Connection, begin: Callable[[], Work]) -> None:
    """Works on one script after the other, in a new process. Interrupts are left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _end)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # Whoever reads the output of the run waits for its end, which a worker must not put off.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for handle in (1, 2):
        os.dup2(nowhere, handle)
    os.close(nowhere)
    # Signals are the main thread's, which may put them off.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    turn = _Turn()
    Thread(target=_watch, args=(turn,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    work = begin()
    try:
        while True:
            script = connection.recv()
            turn.began, turn.silent = time.process_time(), _SILENT + _SILENT_BYTE * len(script[1])
            signal.setitimer(signal.ITIMER_PROF, turn.silent)
            try:
                answer: Outcome | Exception = work(script)
            except STARVED:
                answer = starved(script[0])
            except Exception as error:
                answer = error
            connection.send(answer)
    except (EOFError, OSError):
        pass


class _Turn:
    """A script in a worker: the CPU time at which it began, and how much may pass without a sign of life."""

    began, silent = 0.0, _SILENT


def _end(number: int, frame: FrameType | None) -> None:
    """Ends the process, but what is being written is cleared away."""
    sys.exit(1)


def _watch(turn: _Turn) -> None:
    """Waits for the end of the parent, which a process that was killed reports to nobody. Meanwhile it puts off a
    timer, at whose end the system ends this process, without any help of the interpreter."""
    parent, parent_number = parent_process(), os.getppid()  # where a server starts processes, it is not the parent's
    assert parent is not None
    while os.getppid() == parent_number and parent.is_alive():
        if time.process_time() < turn.began + _LONGEST:
            signal.setitimer(signal.ITIMER_PROF, turn.silent)
        time.sleep(_ASKED_EVERY)
    signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
    time.sleep(_LEFT)
    os._exit(1)
