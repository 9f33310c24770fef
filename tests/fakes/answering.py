"""A service for the server's tests: a few methods whose cost and size the request decides."""

import os
import threading

from indexerd.errors import NotFoundError
from indexerd.service.callers import Admission


class Answering:
    """Implements `server.Dispatch`."""

    def __init__(self, admission: Admission | None = None) -> None:
        self.admission = admission or Admission(owner_uid=os.getuid())
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)

    def admit(self, peer):
        return self.admission.admit(peer)

    def call_now(self, caller, method, params):
        match method:
            case "echo":
                return {"protocol": 1, "echo": dict(params), "roles": sorted(caller.roles)}
            case "subscribe":
                return {"protocol": 1, "subscribed": ["index/changed"]}
            case "missing":
                raise NotFoundError("nothing here")
            case "broken":
                raise ZeroDivisionError("a secret of the inside")
        return None

    def is_long(self, method):
        return method == "long"

    def call(self, caller, method, params):
        if method in {"wait", "long"}:
            self.entered.release()
            assert self.gate.wait(120)
        if method == "slow":
            raise ZeroDivisionError("a secret of the inside")
        return {"protocol": 1, "text": "x" * params.get("size", 1)}
