"""PyPI python-redis-lock: whole seconds, and `lock:` before each name."""

import os

from neighbour import not_lost, serve
from redis import StrictRedis
from redis_lock import Lock, NotAcquired


class Client:
    def __init__(self, socket):
        self.redis = StrictRedis(unix_socket_path=socket)

    def acquire(self, name, ttl):
        self.lock = Lock(self.redis, name, expire=int(ttl) // 1000)
        return self.lock.acquire(blocking=False)

    def wait(self, name):
        """Blocks until it is signalled: without an expiry it never looks by itself."""
        self.lock = Lock(self.redis, name)
        return self.lock.acquire()

    def extend(self, ttl):
        return not_lost(lambda: self.lock.extend(int(ttl) // 1000), NotAcquired)

    def release(self):
        return not_lost(self.lock.release, NotAcquired)


serve(Client(os.environ["REDIS_SOCKETS"]))
