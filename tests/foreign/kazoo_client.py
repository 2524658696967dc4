"""kazoo's locks, driven line by line: the same commands and answers as ForeignClient.java, in which they are described.

Here `order` tells identifiers: a contender's id is its identifier. Ends when its input ends.
"""

import logging
import os
import sys
import threading
import time
import uuid

from kazoo.client import KazooClient

PATIENCE_SECONDS = 60
CHURN_SESSION_TIMEOUT_SECONDS = 30


class Contender:
    """A thread that acquires, holds until it is told to release, and releases."""

    def __init__(self, client, name, recipe, path, leases):
        self.recipe = recipe
        self.lock = make(client, recipe, path, name, leases)
        self.held = threading.Event()
        self.may_release = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            if self.recipe == "election":
                self.lock.run(self.hold)
            else:
                self.lock.acquire()
                self.hold()
                self.lock.release()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure
            self.held.set()

    def hold(self):
        self.held.set()
        self.may_release.wait()

    def await_held(self):
        if not self.held.wait(PATIENCE_SECONDS):
            raise TimeoutError("not held in time")
        if self.failure is not None:
            raise self.failure
        lock = self.lock.lock if self.recipe == "election" else self.lock
        node = lock.create_path.rsplit("/", 1)[1] if self.recipe == "semaphore" else lock.node
        return node or "-"

    def release(self):
        self.may_release.set()
        self.join()
        if self.failure is not None:
            raise self.failure

    def abandon(self):
        self.lock.cancel()
        self.join()

    def join(self):
        self.thread.join(PATIENCE_SECONDS)
        if self.thread.is_alive():
            raise TimeoutError("not ended in time")

    def holds(self):
        return self.held.is_set() and self.failure is None and not self.may_release.is_set()

    def order(self):
        return self.lock.lease_holders() if self.recipe == "semaphore" else self.lock.contenders()


def make(client, recipe, path, identifier, leases):
    if recipe == "semaphore":
        return client.Semaphore(path, identifier, max_leases=leases)
    if recipe == "mixed":
        return client.Lock(path, identifier, extra_lock_patterns=["-lock-"])
    makers = {"lock": client.Lock, "read": client.ReadLock, "write": client.WriteLock, "election": client.Election}
    return makers[recipe](path, identifier)


class Inside:
    """Checks who is inside of a lock, as Inside.java does."""

    def __init__(self, client, recipe, path):
        self.client = client
        self.path = path
        self.kind = "r-" if recipe == "read" else "w-"

    def enter(self, node):
        name = self.kind + uuid.uuid4().hex
        self.own = self.path + "-inside/" + name
        self.client.create(self.own, ephemeral=True)
        inside = self.client.get_children(self.path + "-inside")
        for other in inside:
            if other != name and (self.kind == "w-" or other.startswith("w-")):
                raise RuntimeError(f"{node} is not alone: {inside}")
        stat = self.client.exists(self.path + "/" + node)
        if stat is None:
            raise RuntimeError(f"{node} holds without a node")
        self.client.create(self.path + "-record/", f"{node} {stat.czxid}".encode(), sequence=True)

    def leave(self):
        self.client.delete(self.own)


class Churn:
    """Threads that contend for one lock again and again, each with its own session, all from the same moment."""

    def __init__(self, servers, recipe, path, threads, rounds, checked):
        self.recipe, self.path, self.rounds, self.checked = recipe, path, rounds, checked
        self.count = 0
        self.began = self.ended = 0.0
        self.guard = threading.Lock()
        self.failure = None
        # A barrier that somebody never reaches breaks, for all.
        self.connected = threading.Barrier(threads, timeout=PATIENCE_SECONDS)
        self.threads = [
            threading.Thread(target=self.run, args=(servers, str(i)), daemon=True) for i in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, servers, identifier):
        try:
            client = connect(servers, CHURN_SESSION_TIMEOUT_SECONDS)
            self.connected.wait()
            self.began = self.began or time.monotonic()
            for _ in range(self.rounds):
                if self.failure is not None:
                    break
                self.turn(client, identifier)
            self.ended = time.monotonic()
            client.stop()
            client.close()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = self.failure or failure

    def turn(self, client, identifier):
        lock = make(client, self.recipe, self.path, identifier, 1)
        lock.acquire()
        with self.guard:
            self.count += 1
        if self.checked:
            inside = Inside(client, self.recipe, self.path)
            inside.enter(lock.node)
            inside.leave()
        lock.release()

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        return f"{self.count} {round((self.ended - self.began) * 1000)}"


def connect(servers, timeout_seconds):
    patient = {"max_tries": -1, "delay": 0.05, "max_delay": 1}
    client = KazooClient(hosts=servers, timeout=timeout_seconds, connection_retry=patient, command_retry=patient)
    client.start(timeout=PATIENCE_SECONDS)
    return client


class Program:
    """What has been named so far, and the commands on it."""

    def __init__(self, servers):
        self.servers = servers
        self.clients = {}
        self.contenders = {}
        self.churns = {}

    def answer(self, command, *words):
        return getattr(self, "on_" + command)(*words)

    def on_connect(self, client, timeout_ms):
        self.clients[client] = connect(self.servers, int(timeout_ms) / 1000)
        session = self.clients[client].client_id[0] % 2**64
        return f"connected {session:#x}"

    def on_start(self, client, name, recipe, path, leases=1):
        self.contenders[name] = Contender(self.clients[client], name, recipe, path, int(leases))
        return "ok"

    def on_wait(self, name):
        if name in self.churns:
            return f"done {self.churns[name].join()}"
        return f"held {self.contenders[name].await_held()}"

    def on_holds(self, name):
        return "yes" if self.contenders[name].holds() else "no"

    def on_order(self, name):
        return "order " + ",".join(self.contenders[name].order())

    def on_release(self, name):
        self.contenders[name].release()
        return "released"

    def on_abandon(self, name):
        self.contenders[name].abandon()
        return "left"

    def on_churn(self, name, recipe, path, threads, rounds, checked=""):
        self.churns[name] = Churn(self.servers, recipe, path, int(threads), int(rounds), checked == "checked")
        return "ok"

    def on_close(self, client):
        self.clients[client].stop()
        self.clients[client].close()
        return "closed"

    def on_quit(self):
        for client in self.clients.values():
            client.stop()
        return "bye"


def main():
    logging.basicConfig(level=logging.WARNING)
    program = Program(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = program.answer(*line.split())
        except Exception as failure:  # pylint: disable=broad-except
            logging.exception("a command failed")
            answer = "error " + " ".join(repr(failure).split())
        print(answer, flush=True)
        if answer == "bye":
            break
    # Threads that still wait must not keep the process.
    os._exit(0)


main()
