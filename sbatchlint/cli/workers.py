"""The processes that share the files of a run: none outlives it, and the death of one costs only its file."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from multiprocessing import Pipe, Process, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread, main_thread
from typing import Any

from sbatchlint.cli.outcome import Outcome

# Its first part is the path.
Script = tuple[Any, ...]
Work = Callable[[Script], Outcome]

# How often a worker asks whether its parent lives, and how long it may then take to finish what it is writing.
_ASKED_EVERY, _LEFT = 0.2, 0.5
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
        self.process.join()
        code = self.process.exitcode or 0
        if code == -signal.SIGKILL:
            return "the process that read it was killed, perhaps for lack of memory"
        return f"the process that read it ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}"


def work_in_processes(scripts: Iterable[Script], jobs: int, begin: Callable[[], Work]) -> Iterator[tuple[int, Outcome]]:
    """The outcomes with the numbers of their scripts, as they are done. `begin` is called in each new process. A script
    is taken when a process is free for it.

    Raises what is raised for the first of the scripts for which something is.
    """
    waiting: Iterator[tuple[int, Script]] = iter(enumerate(scripts))
    workers: list[_Worker] = []
    raised: dict[int, Exception] = {}
    try:
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
                    worker.process.terminate()
                else:
                    worker.give(*script)
        if raised:
            raise raised[min(raised)]
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(2 * _LEFT)
            worker.process.kill()  # where the exception that ends it was lost, as within a finalizer
            worker.process.join()


def _serve(connection: Connection, begin: Callable[[], Work]) -> None:
    """Works on one script after the other, in a new process. Interrupts are left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    # Whoever reads the output of the run waits for its end, which a worker must not put off.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for handle in (1, 2):
        os.dup2(nowhere, handle)
    os.close(nowhere)
    # Signals are the main thread's, which may put them off.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP})
    Thread(target=_end_with_parent, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    work = begin()
    try:
        while True:
            script = connection.recv()
            try:
                answer: Outcome | Exception = work(script)
            except Exception as error:
                answer = error
            connection.send(answer)
    except (EOFError, OSError):
        pass


def _end(number: int, frame: object) -> None:
    """Ends the process, but what is being written is cleared away."""
    sys.exit(1)


def _end_with_parent() -> None:
    """Waits for the end of the parent, which a process that was killed reports to nobody."""
    parent = parent_process()
    assert parent is not None
    while os.getppid() == parent.pid:
        time.sleep(_ASKED_EVERY)
    signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
    time.sleep(_LEFT)
    os._exit(1)
