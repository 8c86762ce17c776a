# SPDX-License-Identifier: Apache-2.0
"""Datagrams of the world's protocol, written from schemas/wire/world.md alone, with another implementation of the cipher.

make: prints datagrams of a client, one a line in hex. ack N MASK: one that acknowledges N and what MASK
says of those before it. read HEX...: prints what datagrams of a server hold."""
import struct
import sys
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

TO_CLIENT = bytes([1, 2, 3]) + bytes(29)
TO_SERVER = bytes([4, 5, 6]) + bytes(29)
CONNECTION = 7


def seal(sequence, plain):
    head = struct.pack("<IQ", CONNECTION, sequence)
    nonce = bytes(4) + struct.pack("<Q", sequence)
    print((head + ChaCha20Poly1305(TO_SERVER).encrypt(nonce, plain, head)).hex())


def ack(newest=0, before=0, held_us=0):
    return struct.pack("<Q", newest) + before.to_bytes(32, "little") + struct.pack("<I", held_us)


def frame(code, body):
    return struct.pack("<BHB", 1, 1 + len(body), code) + body


def pieces(message, code, body):
    data = bytes([code]) + body
    parts = [data[i:i + 1100] for i in range(0, len(data), 1100)]
    return [struct.pack("<BQHHH", 2, message, i, len(parts), len(p)) + p for i, p in enumerate(parts)]


def make():
    seal(5000, (ack() + b"\x03").ljust(1172, b"\0"))
    seal(5002, ack() + frame(35, b"done") + frame(2, b"") + b"\x03")
    for i, p in enumerate(reversed(pieces(1, 16, bytes(i % 251 for i in range(2500))))):
        seal(5003 + i, ack() + p)


def items(plain):
    while plain and plain[0]:
        kind = plain[0]
        if kind == 1:
            n, = struct.unpack_from("<H", plain, 1)
            yield "frame %d %s" % (plain[3], plain[4:3 + n].decode())
            plain = plain[3 + n:]
        elif kind == 2:
            message, i, count, n = struct.unpack_from("<QHHH", plain, 1)
            yield "piece %d %d/%d %d %d" % (message, i, count, n, sum(plain[15:15 + n]))
            plain = plain[15 + n:]
        else:
            assert kind == 3
            yield "ping"
            plain = plain[1:]


def read(datagrams):
    for text in datagrams:
        data = bytes.fromhex(text)
        connection, sequence = struct.unpack_from("<IQ", data)
        assert connection == CONNECTION and len(data) <= 1200
        nonce = bytes(4) + struct.pack("<Q", sequence)
        plain = ChaCha20Poly1305(TO_CLIENT).decrypt(nonce, data[12:], data[:12])
        newest, = struct.unpack_from("<Q", plain)
        held, = struct.unpack_from("<I", plain, 40)
        print("ack %d %x %d" % (newest, int.from_bytes(plain[8:40], "little"), held))
        for item in items(plain[44:]):
            print(item)


if sys.argv[1] == "make":
    make()
elif sys.argv[1] == "ack":
    seal(5100 + int(sys.argv[3]), ack(int(sys.argv[2]), int(sys.argv[3])))
else:
    read(sys.argv[2:])
