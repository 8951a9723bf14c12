"""The protocol as pygls speaks it, without what would grow with each change of a file, and with an answer to each
request: a client waits for it."""

import logging
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

_log = logging.getLogger(__name__)


class _Futures(dict[Any, Any]):
    """The futures by their requests. Its items may be gone through while some end, as at `shutdown`."""

    def items(self) -> Any:
        return list(super().items())


class Protocol(LanguageServerProtocol):
    """pygls 2.1 keeps the future of each notification (`_execute_handler` in protocol/json_rpc.py), and drops only
    those of requests. It leaves requests without an answer whose parameters are wrong, and those after `shutdown`.

    `has_begun`: whether a client has asked for `initialize`; `has_ended`: for `shutdown`.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._request_futures = _Futures()
        self.has_begun = False

    @property
    def has_ended(self) -> bool:
        return bool(self._shutdown)

    def structure_message(self, data: dict[str, Any]) -> Any:
        if "jsonrpc" in data and "method" in data:
            data.setdefault("params", None)  # which may be left out, of methods that are not known too
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise

    def handle_message(self, message: Any) -> None:
        if not hasattr(message, "jsonrpc"):
            _log.warning("not a message: %.200r", message)
            return
        method = getattr(message, "method", None)
        if method is not None and hasattr(message, "id"):
            self.has_begun |= method == types.INITIALIZE
            if self.has_ended:
                self._refuse(message.id, types.ErrorCodes.InvalidRequest, "the server was shut down")
                return
            if not self.has_begun:
                self._refuse(message.id, types.ErrorCodes.ServerNotInitialized, "`initialize` comes first")
                return
        super().handle_message(message)

    def _refuse(self, request: Any, code: types.ErrorCodes, why: str) -> None:
        self._send_response(request, None, types.ResponseError(code.value, why))

    def _execute_handler(self, msg_id: Any, *arguments: Any, **others: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **others)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))
