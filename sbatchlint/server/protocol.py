"""The protocol as pygls speaks it, without what would grow with each change of a file."""

from typing import Any

from pygls.protocol import LanguageServerProtocol


class _Futures(dict[Any, Any]):
    """The futures by their requests. Its items may be gone through while some end, as at `shutdown`."""

    def items(self) -> Any:
        return list(super().items())


class Protocol(LanguageServerProtocol):
    """pygls 2.1 keeps the future of each notification (`_execute_handler` in protocol/json_rpc.py), and drops only
    those of requests."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._request_futures = _Futures()

    def _execute_handler(self, msg_id: Any, *arguments: Any, **others: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **others)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))
