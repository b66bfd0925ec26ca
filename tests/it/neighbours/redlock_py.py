"""PyPI redlock-py. It has no extend, and its unlock says nothing."""

import os

from neighbour import serve
from redlock import Redlock


class Client:
    def __init__(self, sockets):
        servers = [{"unix_socket_path": socket} for socket in sockets]
        self.redlock = Redlock(servers, retry_count=1, retry_delay=0.001)

    def acquire(self, name, ttl):
        self.lock = self.redlock.lock(name, int(ttl))
        return bool(self.lock)

    def extend(self, ttl):
        return None

    def release(self):
        self.redlock.unlock(self.lock)


serve(Client(os.environ["REDIS_SOCKETS"].split(",")))
