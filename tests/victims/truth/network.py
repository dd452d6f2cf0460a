"""A server on this machine answers after 300 ms; without: at once."""
# cause: network_wait
import os
import socket
import threading
import time

server = socket.create_server(("127.0.0.1", 0))


def serve():
    peer, _ = server.accept()
    with peer:
        peer.recv(16)
        if not os.environ.get("VICTIM_WITHOUT"):
            time.sleep(0.3)
        peer.sendall(b"ok")


threading.Thread(target=serve, daemon=True).start()
with socket.create_connection(server.getsockname()) as client:
    start = time.perf_counter()
    client.sendall(b"hello")
    client.recv(16)
    total = sum(i * i for i in range(100_000))
    print(f"{time.perf_counter() - start:.6f}")
