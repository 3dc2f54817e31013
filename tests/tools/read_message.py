#!/usr/bin/env python3
"""Reads a serde-tensor message and prints it as JSON. Written from docs/spec alone; needs only Python 3.10.

    read_message.py FILE        read a file ("-" is standard input)
    read_message.py --hex HEX   read bytes given in hex
"""

import base64
import json
import struct
import sys
from dataclasses import dataclass
from math import prod

DTYPES = {  # 5.3
    (6, 8): "bool", (1, 8): "u8", (0, 8): "i8", (1, 16): "u16", (0, 16): "i16", (1, 32): "u32", (0, 32): "i32",
    (1, 64): "u64", (0, 64): "i64", (2, 16): "f16", (4, 16): "bf16", (2, 32): "f32", (2, 64): "f64", (5, 64): "c64",
    (5, 128): "c128", (10, 8): "f8_e4m3fn", (12, 8): "f8_e5m2", (11, 8): "f8_e4m3fnuz", (13, 8): "f8_e5m2fnuz",
    (14, 8): "f8_e8m0fnu", (15, 6): "f6_e2m3fn", (16, 6): "f6_e3m2fn", (17, 4): "f4_e2m1fn",
}
DEVICES = {1: "cpu", 2: "cuda:{}", 7: "vulkan", 8: "mps", 10: "rocm:{}"}  # 5.4
PINS = ["none", "keep_cpu", "source"]  # 5.2
MAX_DEPTH, MAX_RANK, MAX_SEGMENTS, MAX_BYTES = 128, 64, 1 << 20, (1 << 63) - 1  # 10


class Bad(Exception):
    """A message that is refused; `category` is one of Eof, Syntax, Data and Limit (11)."""

    def __init__(self, category, message):
        super().__init__(f"{category}: {message}")
        self.category = category


class Map(list):
    """The entries of a map, as pairs: keys may be of any type."""


@dataclass
class Some:
    """An ext 53: something that would read as nothing (4.9)."""
    value: object


@dataclass
class Ext:
    """An extension value of another application (4.17)."""
    type: int
    data: bytes


@dataclass
class Tensor:
    dtype: str
    bits: int
    shape: list
    strides: list | None
    device: str
    requires_grad: bool
    pin: str
    data: bytes  # strided when there are strides
    segment: tuple | None  # index and offset; None when inline


def crc32c(*parts):  # 7.1
    crc = 0xFFFFFFFF
    for byte in b"".join(parts):
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Bytes:
    """A place in some bytes."""

    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n, what="a value"):
        if n > self.left():
            raise Bad("Eof", f"{what} of {n} bytes at {self.at}, {self.left()} left")
        self.at += n
        return self.data[self.at - n:self.at]

    def big(self, n, signed=False):
        return int.from_bytes(self.take(n, "a number"), "big", signed=signed)

    def uv(self):  # 1.3
        value = 0
        for index in range(10):
            (byte,) = self.take(1, "a uv")
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                if byte == 0 and index > 0:
                    raise Bad("Syntax", "a uv that is not in its shortest form")
                if value >> 64:
                    break
                return value
        raise Bad("Syntax", "a uv beyond 64 bits")


def data_len(bits, shape, strides):  # 5.5, 5.7
    if 0 in shape:
        return 0
    count = prod(shape)
    if strides is not None:
        extent = 0
        for stride, dim in sorted((s, d) for s, d in zip(strides, shape) if d > 1):
            if stride <= extent:
                raise Bad("Data", f"strides {strides} of shape {shape} share places")
            extent += (dim - 1) * stride
        count = extent + 1
    length = (count * bits + 7) // 8
    if length > MAX_BYTES:
        raise Bad("Limit", f"shape {shape} is beyond the address space")
    return length


def tensor(payload, frame):  # 5.1
    src = Bytes(payload)
    form, code, bits, flags, device = src.take(5, "a tensor's fields")
    if form > 1 or bits == 0 or flags & 0xF0 or flags >> 2 == 3:
        raise Bad("Syntax", f"form {form}, {bits} bits, flags {flags:#x}")
    index, rank = src.uv(), src.uv()
    if rank > MAX_RANK:
        raise Bad("Limit", f"rank {rank}")
    shape = [src.uv() for _ in range(rank)]
    strides = [src.uv() for _ in range(rank)] if flags & 2 else None
    place = None
    if form == 1:
        place = (src.uv(), src.uv())
        if src.left():
            raise Bad("Syntax", "bytes after a tensor's place")
        if frame is None or place[0] >= len(frame.segments):
            raise Bad("Syntax", f"no segment {place[0]}")
    length = data_len(bits, shape, strides)
    if form == 0:
        data = src.take(src.left())
        if len(data) != length:
            raise Bad("Data", f"{len(data)} bytes of data instead of {length}")
    else:
        segment = frame.segment(place[0])
        if place[1] + length > len(segment):
            raise Bad("Syntax", "a segment too short for its tensor")
        data = segment[place[1]:place[1] + length]
    if (code, bits) == (6, 8) and data.strip(b"\0\1"):
        raise Bad("Data", "a bool that is neither 0 nor 1")
    name = DEVICES.get(device, "")
    named = "{}" in name or (name and index == 0)
    return Tensor(
        DTYPES.get((code, bits), f"dl:{code}/{bits}"), bits, shape, strides,
        name.format(index) if named else f"dl:{device}:{index}", bool(flags & 1), PINS[flags >> 2], data, place)


def value(src, frame, depth=0):  # 4
    (m,) = src.take(1)
    if m < 0x80:
        return m
    if m < 0x90:
        return many(src, frame, m & 15, 2, depth)
    if m < 0xA0:
        return many(src, frame, m & 15, 1, depth)
    if m < 0xC0:
        return text(src, m & 31)
    if m >= 0xE0:
        return m - 256
    if m in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[m]
    if m in (0xC4, 0xC5, 0xC6):
        return src.take(src.big(1 << m - 0xC4), "a byte string")
    if m in (0xC7, 0xC8, 0xC9):
        return ext(src, frame, src.big(1 << m - 0xC7), depth)
    if m in (0xCA, 0xCB):
        return struct.unpack(">f" if m == 0xCA else ">d", src.take(4 << m - 0xCA))[0]
    if 0xCC <= m <= 0xCF:
        return src.big(1 << m - 0xCC)
    if 0xD0 <= m <= 0xD3:
        return src.big(1 << m - 0xD0, signed=True)
    if 0xD4 <= m <= 0xD8:
        return ext(src, frame, 1 << m - 0xD4, depth)
    if m in (0xD9, 0xDA, 0xDB):
        return text(src, src.big(1 << m - 0xD9))
    if m in (0xDC, 0xDD):
        return many(src, frame, src.big(2 << m - 0xDC), 1, depth)
    if m in (0xDE, 0xDF):
        return many(src, frame, src.big(2 << m - 0xDE), 2, depth)
    raise Bad("Syntax", f"byte {m:#x} starts no value")


def text(src, n):
    try:
        return src.take(n, "a string").decode()
    except UnicodeDecodeError as error:
        raise Bad("Syntax", str(error)) from None


def deeper(depth):
    if depth >= MAX_DEPTH:
        raise Bad("Limit", "nested too deep")
    return depth + 1


def many(src, frame, count, each, depth):
    depth = deeper(depth)
    if count * each > src.left():  # 10.6
        raise Bad("Eof", f"{count} elements do not fit")
    if each == 1:
        return [value(src, frame, depth) for _ in range(count)]
    return Map((value(src, frame, depth), value(src, frame, depth)) for _ in range(count))


def ext(src, frame, length, depth):
    kind = src.take(1, "an ext type")[0]
    payload = src.take(length, "an extension value")
    if kind == 0x54:
        return tensor(payload, frame)
    if kind == 0x53:
        return Some(whole(Bytes(payload), frame, deeper(depth)))
    if kind in (0x49, 0x55):
        if length != 16:
            raise Bad("Syntax", "a 128-bit integer not of 16 bytes")
        return int.from_bytes(payload, "big", signed=kind == 0x49)
    return Ext(kind, payload)


def whole(src, frame, depth=0):
    found = value(src, frame, depth)
    if src.left():
        raise Bad("Syntax", f"{src.left()} bytes after the value")
    return found


class Frame:  # 6
    def __init__(self, data):
        if len(data) < 64:
            raise Bad("Eof", "a frame's header takes 64 bytes")
        (magic, version, flags, align, reserved, length, body_at, body_len, table_at, count, checksum, data_at,
         data_length) = struct.unpack("<4s4B4Q2I2Q", data[:64])
        if magic != b"\xc1STN" or version != 1 or flags > 1 or not 4 <= align <= 16 or reserved:
            raise Bad("Syntax", "not a frame of version 1")
        sections = [(body_at, body_len), (table_at, 24 * count), (data_at, data_length)]
        if any(at < 64 or at + n > length for at, n in sections):
            raise Bad("Syntax", "a section is not inside the frame")
        sections.sort()
        if any(at + n > then for (at, n), (then, _) in zip(sections, sections[1:])):
            raise Bad("Syntax", "sections overlap")
        if length > len(data):
            raise Bad("Eof", f"a frame of {length} bytes, {len(data)} are there")
        if length < len(data):
            raise Bad("Syntax", f"{len(data) - length} bytes after the frame")
        if count > MAX_SEGMENTS:
            raise Bad("Limit", f"{count} segments")
        self.data, self.checked = data, flags == 1
        self.body, table = data[body_at:body_at + body_len], data[table_at:table_at + 24 * count]
        if checksum != (crc32c(data[:44], self.body, table) if self.checked else 0):
            raise Bad("Syntax", "the header's checksum")
        self.segments, free = [], data_at
        for offset, size, crc, zero in struct.iter_unpack("<2Q2I", table):
            if offset % (1 << align) or offset < free or offset + size > data_at + data_length or zero:
                raise Bad("Syntax", "the table")
            if crc and not self.checked:
                raise Bad("Syntax", "a segment's checksum without the flag")
            self.segments.append((offset, size, crc))
            free = offset + size

    def segment(self, index):
        offset, size, crc = self.segments[index]
        data = self.data[offset:offset + size]
        if self.checked and crc != crc32c(data):
            raise Bad("Syntax", f"the checksum of segment {index}")
        return data


def read(data):  # 2
    """The value of a whole message."""
    if data[:1] == b"\xc1":
        frame = Frame(data)
        return whole(Bytes(frame.body), frame)
    return whole(Bytes(data), None)


def join(chunks):  # 8
    """The message that the chunks of one id hold, in the order of their offsets."""
    message, total, first = b"", None, None
    for chunk in chunks:
        if len(chunk) < 40:
            raise Bad("Eof", "a chunk's header takes 40 bytes")
        magic, version, zero, ident, length, offset, size, crc = struct.unpack("<4sB3s3Q2I", chunk[:40])
        piece = chunk[40:]
        if magic != b"\xc1STC" or version != 1 or zero != b"\0\0\0":
            raise Bad("Syntax", "not a chunk of version 1")
        if offset + size > length or total not in (None, length) or first not in (None, ident):
            raise Bad("Syntax", "a piece not of this message")
        if len(piece) < size:
            raise Bad("Eof", f"a piece of {size} bytes, {len(piece)} are there")
        if len(piece) > size or offset != len(message) or crc != crc32c(piece):
            raise Bad("Syntax", "a piece out of place, or its checksum")
        message, total, first = message + piece, length, ident
    if len(message) != total:
        raise Bad("Eof", f"{len(message)} bytes of {total}")
    return message


def to_json(v):
    if isinstance(v, Map):
        if all(isinstance(key, str) for key, _ in v):
            return {key: to_json(item) for key, item in v}
        return {"$map": [[to_json(key), to_json(item)] for key, item in v]}
    if isinstance(v, list):
        return [to_json(item) for item in v]
    if isinstance(v, bytes):
        return {"$bytes": v.hex()}
    if isinstance(v, Some):
        return {"$some": to_json(v.value)}
    if isinstance(v, Ext):
        return {"$ext": [v.type, v.data.hex()]}
    if isinstance(v, Tensor):
        fields = {k: x for k, x in vars(v).items() if k != "bits" and x is not None}
        return {"$tensor": fields | {"data": base64.b64encode(v.data).decode()}}
    return v


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--hex":
        message = bytes.fromhex(sys.argv[2])
    elif len(sys.argv) == 2:
        message = sys.stdin.buffer.read() if sys.argv[1] == "-" else open(sys.argv[1], "rb").read()
    else:
        sys.exit(__doc__)
    try:
        print(json.dumps(to_json(read(message)), indent=1))
    except Bad as bad:
        sys.exit(str(bad))
