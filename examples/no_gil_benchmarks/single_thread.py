"""What one thread costs: five small programs of the kinds that pyperformance times. For any CPython from 3.8 on, alone.

    python single_thread.py

prints one line of JSON: the CPU seconds of each program, the least of several runs.
"""

import io
import json
import logging
import math
import re
import sys
import time

RUNS = 5


def _sbox():
    """The S-box of AES: inverses in GF(2^8), then an affine map."""
    p = q = 1
    box = [0x63] * 256
    while True:
        p = p ^ ((p << 1) & 0xFF) ^ (0x1B if p & 0x80 else 0)  # times 3
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        if q & 0x80:
            q ^= 0x09
        x = q ^ (q << 1 | q >> 7) ^ (q << 2 | q >> 6) ^ (q << 3 | q >> 5) ^ (q << 4 | q >> 4)
        box[p] = (x ^ 0x63) & 0xFF
        if p == 1:
            return box


SBOX = _sbox()
DOUBLE = [(value << 1 ^ (0x1B if value & 0x80 else 0)) & 0xFF for value in range(256)]


def round_keys(key):
    words, constant = [list(key[at : at + 4]) for at in range(0, 16, 4)], 1
    for at in range(4, 44):
        word = words[-1]
        if at % 4 == 0:
            word = [SBOX[word[1]] ^ constant, SBOX[word[2]], SBOX[word[3]], SBOX[word[0]]]
            constant = DOUBLE[constant]
        words.append([a ^ b for a, b in zip(words[-4], word)])
    return [[byte for word in words[at : at + 4] for byte in word] for at in range(0, 44, 4)]


def encrypt(block, keys):
    """One block of AES-128."""
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number in range(1, 11):
        state = [SBOX[state[(at + 4 * (at % 4)) % 16]] for at in range(16)]  # substitute bytes, shift rows
        if number < 10:
            mixed = []
            for column in range(0, 16, 4):
                a, b, c, d = state[column : column + 4]
                every = a ^ b ^ c ^ d
                mixed += [
                    a ^ every ^ DOUBLE[a ^ b],
                    b ^ every ^ DOUBLE[b ^ c],
                    c ^ every ^ DOUBLE[c ^ d],
                    d ^ every ^ DOUBLE[d ^ a],
                ]
            state = mixed
        state = [a ^ b for a, b in zip(state, keys[number])]
    return bytes(state)


def crypto():
    """AES in counter mode, in Python alone."""
    keys = round_keys(bytes(range(16)))
    for counter in range(400):
        encrypt(counter.to_bytes(16, "big"), keys)


ROWS = [{"id": number, "name": "row %d" % number, "price": number * 0.99, "tags": ["a", "b"]} for number in range(3000)]


def json_dumps():
    json.dumps(ROWS)


LOGGER = logging.getLogger("gallery")
LOGGER.propagate = False
LOGGER.addHandler(logging.StreamHandler(io.StringIO()))
LOGGER.setLevel(logging.WARNING)


def log():
    """Messages with arguments, and messages that nobody wants to see."""
    for number in range(1500):
        LOGGER.warning("request %d took %s", number, "long")
        for _ in range(10):
            LOGGER.debug("nothing")


def nbody():
    """Bodies on a ring that attract each other: arithmetic with floats in lists."""
    bodies = [[math.cos(at), math.sin(at), 0.0, -math.sin(at) / 9, math.cos(at) / 9, 0.0, 0.001 * (at + 1)] for at in range(5)]
    pairs = [(a, b) for at, a in enumerate(bodies) for b in bodies[at + 1 :]]
    for _ in range(3000):
        for a, b in pairs:
            dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
            pull = 0.001 / (dx * dx + dy * dy + dz * dz + 0.01) ** 1.5
            a[3] -= dx * b[6] * pull
            a[4] -= dy * b[6] * pull
            a[5] -= dz * b[6] * pull
            b[3] += dx * a[6] * pull
            b[4] += dy * a[6] * pull
            b[5] += dz * a[6] * pull
        for body in bodies:
            body[0] += 0.001 * body[3]
            body[1] += 0.001 * body[4]
            body[2] += 0.001 * body[5]


TEXT = "".join(
    '%d.%d.%d.%d - user%d [10/Oct] "GET /path/%d HTTP/1.1" 200\n' % (n % 256, n % 7, n % 99, 1, n, n * n) for n in range(1500)
)
PATTERNS = [
    re.compile(p)
    for p in (r"(\d+)\.(\d+)\.\d+\.\d+", r'"(GET|POST) (/\w+)+', r"user\d*7\b", r"(?i)http/1\.[01]", r"[^\n]*1\d\d\d\d\b")
]


def regex():
    for pattern in PATTERNS:
        pattern.findall(TEXT)


PROGRAMS = (crypto, json_dumps, log, nbody, regex)


def measure():
    """CPU seconds by the name of the program."""
    least = {}
    for _ in range(RUNS):  # in turn, so that a slow moment of the machine meets all of them
        for program in PROGRAMS:
            began = time.process_time()
            program()
            seconds = time.process_time() - began
            least[program.__name__] = min(seconds, least.get(program.__name__, seconds))
    return least


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
