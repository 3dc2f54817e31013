#!/usr/bin/env python3
"""Runs the specification's vectors through read_message.py: the specification judged by a reader written from it alone.

    check_vectors.py            all of docs/spec/vectors.md and rejected.md that needs no Rust types
"""

import json
import re
import sys
from pathlib import Path

import read_message as reader

SPEC = Path(__file__).parents[2] / "docs" / "spec"


def vectors(page):
    """(id, title, [(language, text)]) for each heading of the third level."""
    for part in re.split(r"^### ", (SPEC / page).read_text(), flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        name, _, title = heading.partition(". ")
        yield name, title, re.findall(r"^```(\w+)\n(.*?)^```", body, flags=re.M | re.S)


def joined(hex_text):
    return bytes.fromhex("".join(hex_text if isinstance(hex_text, list) else [hex_text]))


def same(stated, found, storages):
    """Whether a value of a json block is what was read."""
    if isinstance(stated, dict) and "$tensor" in stated:
        stated = stated["$tensor"]
        if "hex" in stated:
            data = joined(stated["hex"])
        else:
            start = stated.get("offset", 0)
            data = joined(storages[stated["storage"]])[start:start + len(found.data)]
        return isinstance(found, reader.Tensor) and (
            found.dtype, found.shape, found.strides, found.device, found.requires_grad, found.pin, found.data) == (
            stated["dtype"], stated["shape"], stated.get("strides"), stated.get("device", "cpu"),
            stated.get("requires_grad", False), stated.get("pin", "none"), data)
    if isinstance(stated, dict) and "$nested" in stated:
        depth = 1
        while found:
            (found,), depth = found, depth + 1
        return found == [] and depth == stated["$nested"]
    if isinstance(stated, dict):
        return isinstance(found, reader.Map) and len(stated) == len(found) and all(
            k == key and same(v, item, storages) for (k, v), (key, item) in zip(stated.items(), found))
    if isinstance(stated, list):
        return type(found) is list and len(stated) == len(found) and all(
            same(s, f, storages) for s, f in zip(stated, found))
    return type(stated) is type(found) and stated == found


def chunks(blocks):
    return [bytes.fromhex(text) for language, text in blocks if language == "hex"]


def refusal(message, limits=None, read=reader.read):
    reader.MAX_DEPTH, reader.MAX_RANK, reader.MAX_SEGMENTS = (
        (limits or {}).get(name, default) for name, default in (("depth", 128), ("rank", 64), ("segments", 1 << 20)))
    try:
        read(message)
    except reader.Bad as bad:
        return bad.category
    return None


def main():
    ran, faults = 0, []
    for name, title, blocks in vectors("vectors.md"):
        texts = {language: text for language, text in reversed(blocks)}
        ran += name[0] != "F"
        if name[0] == "C":
            stated = json.loads(texts["json"])
            if reader.join(chunks(blocks)) != joined(stated["message"]):
                faults.append(f"{name} {title}")
        if name[0] not in "VSA":
            continue
        message = bytes.fromhex(texts["hex"])
        found = reader.read(message)
        if "json" in texts:
            stated = json.loads(texts["json"])
            if not same(stated["value"], found, stated.get("storages", {})):
                faults.append(f"{name} {title}: {found}")
        step = max(1, len(message) // 100)
        faults += [f"{name} {title}: cut at {n}" for n in range(0, len(message), step) if refusal(message[:n]) != "Eof"]
    for name, title, blocks in vectors("rejected.md"):
        stated = json.loads(dict(blocks)["json"])
        if name[0] == "K":
            ran += 1
            if (got := refusal(chunks(blocks), read=reader.join)) != stated["category"]:
                faults.append(f"{name} {title}: {got} instead of {stated['category']}")
        if name[0] == "R" and ("into" not in stated or stated["into"] in ("i128", "u128") and stated["category"] != "Data"):
            ran += 1
            got = refusal(bytes.fromhex(dict(blocks)["hex"]), stated.get("limits"))
            if got not in ([stated["category"]] if isinstance(stated["category"], str) else stated["category"]):
                faults.append(f"{name} {title}: {got} instead of {stated['category']}")
    print(*faults, f"{ran} vectors, {len(faults)} faults", sep="\n")
    sys.exit(bool(faults) or ran == 0)


if __name__ == "__main__":
    main()
