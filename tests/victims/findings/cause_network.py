"""Asks a slow server on this machine before it computes; without: asks nobody."""
import os
import socket
import threading
import time

server = socket.create_server(("127.0.0.1", 0))


def answer():
    while True:
        client, _ = server.accept()
        time.sleep(0.3)
        client.sendall(b"yes")
        client.close()


threading.Thread(target=answer, daemon=True).start()


def ask():
    with socket.create_connection(server.getsockname()) as client:
        return client.recv(3)


known = None
if os.environ.get("VICTIM_WITHOUT"):
    known = b"yes"
for run in range(3):
    start = time.perf_counter()
    known = known or ask()
    sum(range(20000))
    print(time.perf_counter() - start)
