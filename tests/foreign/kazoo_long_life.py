"""kazoo's clients that come, contend and go: the same arguments and lines as LongLife.java, in which they are described."""

import logging
import os
import random
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState

LONGEST_HOLD_SECONDS = 0.4
LONGEST_PAUSE_SECONDS = 2.0
LOOK_SECONDS = 0.05
CONNECT_SECONDS = 60


class Worker:
    """One client, again and again with another session."""

    def __init__(self, servers, timeout_ms, seed, pause, client):
        self.servers, self.timeout, self.pause = servers, int(timeout_ms) / 1000, pause
        self.name, self.recipe, self.path, leases = client.split("=")
        self.leases = int(leases)
        self.random = random.Random(f"{seed} {client}")

    def run(self):
        while True:
            client = None
            try:
                client = self.connect()
                for _ in range(self.random.randint(3, 22)):
                    self.rest(LONGEST_PAUSE_SECONDS)
                    self.turn(client)
            except Exception as failure:  # pylint: disable=broad-except
                print(f"{self.name}: {failure!r}", file=sys.stderr, flush=True)
            if client is not None:
                client.stop()
                client.close()
            self.say("gone")

    def connect(self):
        patient = {"max_tries": -1, "delay": 0.05, "max_delay": 1}
        client = KazooClient(self.servers, self.timeout, connection_retry=patient, command_retry=patient)
        client.add_listener(lambda state: self.say("unsure") if state != KazooState.CONNECTED else None)
        client.start(timeout=CONNECT_SECONDS)
        return client

    def turn(self, client):
        if self.recipe == "semaphore":
            lock = client.Semaphore(self.path, self.name, max_leases=self.leases)
        else:
            lock = {"lock": client.Lock, "write": client.WriteLock}[self.recipe](self.path, self.name)
        self.say("want")
        lock.acquire()
        if self.recipe == "semaphore":
            self.say(f"held {lock.create_path.rsplit('/', 1)[1]} -")
        else:
            stat = client.exists(f"{self.path}/{lock.node}")
            if stat is None:
                raise RuntimeError(f"{lock.node} holds without a node")
            self.say(f"held {lock.node} {stat.czxid}")
        self.rest(LONGEST_HOLD_SECONDS)
        self.say("done")
        lock.release()

    def rest(self, longest):
        time.sleep(self.random.uniform(0, longest))
        while os.path.exists(self.pause):
            time.sleep(LOOK_SECONDS)

    def say(self, what):
        # One write a line, for several threads write.
        sys.stdout.write(f"record {time.monotonic_ns()} {self.name} {what}\n")
        sys.stdout.flush()


def main():
    logging.basicConfig(level=logging.WARNING)
    servers, timeout_ms, seed, pause, *clients = sys.argv[1:]
    for client in clients:
        threading.Thread(target=Worker(servers, timeout_ms, seed, pause, client).run).start()


main()
