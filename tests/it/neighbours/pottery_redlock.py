"""PyPI pottery's Redlock: `redlock:` before each name, and extended for its own ttl only."""

import os

from neighbour import not_lost, serve
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock
from redis import Redis


class Client:
    def __init__(self, sockets):
        self.masters = {Redis(unix_socket_path=socket) for socket in sockets}

    def acquire(self, name, ttl):
        self.lock = Redlock(key=name, masters=self.masters, auto_release_time=int(ttl) / 1000)
        return self.lock.acquire(blocking=False)

    def extend(self, ttl):
        return not_lost(self.lock.extend, ExtendUnlockedLock)

    def release(self):
        return not_lost(self.lock.release, ReleaseUnlockedLock)


serve(Client(os.environ["REDIS_SOCKETS"].split(",")))
