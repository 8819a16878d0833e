"""A node that sends heartbeats over UDP and says over HTTP what it has heard of whom.

Run as a program: `gossip.py --name n1 --client 20001 --peer 20002 --peers n2=127.0.0.1:20003`.
A heartbeat is `name number crc32`; of each sender are counted: heard, doubled, out of turn, garbled.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
import zlib
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVERY_S = 0.01


class Heard:
    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.garbled = 0
        self._numbers: dict[str, set[int]] = defaultdict(set)

    def take(self, data: bytes) -> None:
        body, _, checksum = data.rpartition(b" ")
        if not checksum.isdigit() or zlib.crc32(body) != int(checksum):
            self.garbled += 1
            return
        name, number = body.decode().split()
        known, count = self._numbers[name], self.counts[name]
        count["heard"] += 1
        count["doubled"] += int(number) in known
        count["out_of_turn"] += bool(known) and int(number) < max(known)
        known.add(int(number))
        count["missing"] = max(known) - min(known) + 1 - len(known)  # since the first that was heard

    def status(self) -> dict[str, object]:
        return {"garbled": self.garbled, "from": {name: dict(count) for name, count in self.counts.items()}}


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--name", "--client", "--peer", "--peers"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    heard = Heard()

    class Status(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(heard.status()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", int(options.client)), Status)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", int(options.peer)))

    def listen() -> None:
        while True:
            try:
                heard.take(sock.recv(2048))
            except OSError:  # somebody whom we had sent to is not there
                continue

    threading.Thread(target=listen, daemon=True).start()
    peers = []
    for each in options.peers.split(","):
        host, _, port = each.partition("=")[2].rpartition(":")
        peers.append((host, int(port)))
    number = 0
    while True:
        number += 1
        body = f"{options.name} {number}".encode()
        for peer in peers:
            sock.sendto(body + b" " + str(zlib.crc32(body)).encode(), peer)
        time.sleep(EVERY_S)


if __name__ == "__main__":
    main()
