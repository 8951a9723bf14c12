"""A network of its own for every node of a LocalSlurm, so that two nodes may use one port, as real ones do.

Each host is a network namespace with a loopback of its own; all hang on a bridge in the controller's. Nothing of it is
in the namespace of the machine, and all is gone with the processes that hold the namespaces. Needs root, and `ip` and
`nsenter` (Debian, Ubuntu: iproute2, util-linux).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

SUBNET = "10.77.0"


class Networks:
    """The namespaces of some hosts; the first one has the bridge. `addresses`: of each host.

    Raises OSError where there can be none.
    """

    def __init__(self, hosts: Sequence[str], path: str) -> None:
        self.addresses = {host: f"{SUBNET}.{number}" for number, host in enumerate(hosts, 1)}
        self.programs = {name: shutil.which(name, path=path) or name for name in ("ip", "nsenter", "unshare", "sh")}
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for host in hosts:
                self._holders[host] = self._hold()
            bridge, *others = hosts
            self._ip(bridge, "link set lo up", "link add bridge type bridge",
                     f"addr add {self.addresses[bridge]}/24 dev bridge", "link set bridge up")  # fmt: skip
            for number, host in enumerate(others, 1):
                # number and not name: the kernel wants no more than 15 characters
                self._ip(bridge, f"link add port{number} type veth peer name eth0 netns {self._holders[host].pid}",
                         f"link set port{number} master bridge up")  # fmt: skip
                self._ip(host, "link set lo up", f"addr add {self.addresses[host]}/24 dev eth0", "link set eth0 up")
        except OSError:
            self.stop()
            raise

    def _hold(self) -> subprocess.Popen[bytes]:
        """A process in a new network namespace, which ends when its standard input is closed."""
        argv = [self.programs["unshare"], "--net", self.programs["sh"], "-c", "echo && read -r line"]
        holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert holder.stdout is not None
        if not holder.stdout.readline():
            holder.wait()
            raise OSError("no network namespaces here")
        return holder

    def _ip(self, host: str, *commands: str) -> None:
        for command in commands:
            done = subprocess.run(self.enter(host, self.programs["ip"], *command.split()), capture_output=True)
            if done.returncode:
                raise OSError(f"ip {command}: {done.stderr.decode(errors='replace').strip()}")

    def enter(self, host: str, *argv: str) -> list[str]:
        """The command that runs `argv` in the network of a host."""
        return [self.programs["nsenter"], f"--net=/proc/{self._holders[host].pid}/ns/net", *argv]

    def hosts_file(self) -> str:
        lines = "".join(f"{address} {host}\n" for host, address in self.addresses.items())
        return f"127.0.0.1 localhost\n{lines}"

    def stop(self) -> None:
        for holder in self._holders.values():
            for stream in (holder.stdin, holder.stdout):
                if stream is not None:
                    stream.close()
            holder.wait(10)
