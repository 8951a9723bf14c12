"""The program of most scripts: finds the other processes of its world by RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.

It does what `torch.distributed.init_process_group` does with env://, in a few milliseconds and without torch: rank 0
listens, the others connect, and each learns who came. It writes that down, and fails where some are missing after
MEET_SECONDS. With the argument `stay` it then works until a launcher of the job has ended, which is not its own, or
until the others must have given up.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time

SECONDS = float(os.environ.get("MEET_SECONDS", "20"))


def name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def write(rank: int, size: int, local: int | None, met: list[str], total: float | None = None) -> None:
    """What this process knows of its world. `met`: all processes of it; `total`: an all-reduce of a one from each."""
    found = {"rank": rank, "size": size, "local": local, "met": sorted(met), "total": total}
    with open(os.path.join(os.environ["SBATCHLINT_RECORDS"], f"{name()}.met"), "w", encoding="utf-8") as file:
        json.dump(found, file)
    print(f"{name()} rank {rank} of {size} met {len(met)}", flush=True)


def stay() -> None:
    deadline = time.monotonic() + 2.5 * SECONDS
    while "stay" in sys.argv and time.monotonic() < deadline:
        if any(each.endswith(".end") for each in os.listdir(os.environ["SBATCHLINT_RECORDS"])):
            break
        time.sleep(0.1)


def gather(size: int, port: int, deadline: float) -> list[str]:
    """Rank 0: waits for the others, and tells each of them who came."""
    names, peers = [name()], []
    with socket.create_server(("", port), backlog=256) as server:
        while len(names) < size and time.monotonic() < deadline:
            server.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                peer, _ = server.accept()
            except TimeoutError:
                break
            peers.append(peer)
            names.append(peer.makefile().readline().strip())
    for peer in peers:
        peer.sendall(json.dumps(names).encode() + b"\n")
        peer.close()
    return names


def join(address: str, port: int, deadline: float) -> list[str]:
    while True:
        try:
            with socket.create_connection((address, port), timeout=1) as peer:
                peer.settimeout(max(0.1, deadline + 2 - time.monotonic()))
                peer.sendall(name().encode() + b"\n")
                answer = peer.makefile().readline()
                if answer:
                    return list(json.loads(answer))
        except OSError:
            pass
        if time.monotonic() > deadline:
            return []
        time.sleep(0.05)


def meet(rank: int, size: int, local: int | None, address: str, port: int) -> None:
    deadline = time.monotonic() + SECONDS
    # The launcher's own store may be at the port itself.
    met = gather(size, port + 1, deadline) if rank == 0 else join(address, port + 1, deadline)
    write(rank, size, local, met)
    if len(met) != size:
        sys.exit(f"rank {rank}: timed out waiting for the others, {len(met)} of {size} came")
    stay()


if __name__ == "__main__":
    environment = os.environ
    local = environment.get("LOCAL_RANK")
    meet(int(environment["RANK"]), int(environment["WORLD_SIZE"]), None if local is None else int(local),
         environment["MASTER_ADDR"], int(environment["MASTER_PORT"]))  # fmt: skip
