"""Serves one client's lock to a test: a line of words asks, a line of JSON answers; null where the client does not say."""

import json
import sys


def serve(client):
    for line in sys.stdin:
        verb, *words = line.split()
        print(json.dumps(getattr(client, verb)(*words)), flush=True)


def not_lost(call, *lost):
    """Whether `call` found the lock still there, by the errors that say it was not."""
    try:
        call()
        return True
    except lost:
        return False
