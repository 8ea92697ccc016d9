#!/usr/bin/env python3
"""An HTTP proxy in front of a store's server that misbehaves. Of all requests, --failing fail, in equal parts by an
answer with status 500, by one with status 503, by a dropped connection before the request is passed on, and by one
after the server has carried it out. --slow of the others take --seconds longer. Prints counts as JSON on SIGUSR1.

    scripts/s3_faults.py 5556 --server 127.0.0.1:5555 --failing 0.2 --slow 0.05 --seconds 2
"""

import argparse
import collections
import http.client
import http.server
import json
import random
import signal
import socket
import threading
import time

OF_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    counts = collections.Counter()
    lock = threading.Lock()

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def drop(self, what):
        self.count(what)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in OF_CONNECTION:
                self.send_header(name, value)
        length = dict((name.lower(), value) for name, value in headers).get("content-length")
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = random.random() / self.options.failing if self.options.failing else 1
        if fault < 0.25:
            return self.drop("dropped before")
        if fault < 0.75:
            status = 500 if fault < 0.5 else 503
            self.count(f"status {status}")
            return self.answer(status, [], b"<Error><Code>InternalError</Code></Error>")
        server = http.client.HTTPConnection(self.options.server, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            server.request(self.command, self.path, body, headers)
            response = server.getresponse()
            answer = response.read()
        except OSError:
            return self.drop("server gone")
        finally:
            server.close()
        if fault < 1:
            return self.drop("dropped after")
        if random.random() < self.options.slow:
            self.count("slow")
            time.sleep(self.options.seconds)
        self.count("passed")
        return self.answer(response.status, response.getheaders(), answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the client is gone

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--server", required=True, help="HOST:PORT of the server")
    parser.add_argument("--failing", type=float, default=0.2, help="share of requests that fail (default: 0.2)")
    parser.add_argument("--slow", type=float, default=0.05, help="share of requests that are slow (default: 0.05)")
    parser.add_argument("--seconds", type=float, default=2, help="how slow they are (default: 2)")
    Proxy.options = parser.parse_args()
    signal.signal(signal.SIGUSR1, lambda *_: print(json.dumps(Proxy.counts), flush=True))
    Server(("127.0.0.1", Proxy.options.port), Proxy).serve_forever()


if __name__ == "__main__":
    main()
