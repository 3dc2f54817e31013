#!/usr/bin/env python3
"""Python's torch reads messages that libtorch's tensors were sent in, through read_message.py, and compares them with what it said itself.

    torch_judge.py ORACLE FOLDER      FOLDER holds a message NAME-INDEX.msg for tensors of the oracle, by their index

Ends with 77 where there is no torch.
"""

import json
import sys
from pathlib import Path

import read_message as reader

try:
    import torch
except ImportError:
    sys.exit(77)

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64,
    "c128": torch.complex128, "f8_e4m3fn": torch.float8_e4m3fn, "f8_e5m2": torch.float8_e5m2,
}


def to_torch(sent):
    dtype = DTYPES[sent.dtype]
    if not sent.data:
        return torch.empty(sent.shape, dtype=dtype)
    flat = torch.frombuffer(bytearray(sent.data), dtype=dtype)
    tensor = flat.reshape(sent.shape) if sent.strides is None else flat.as_strided(sent.shape, sent.strides)
    return tensor.requires_grad_(sent.requires_grad)


def row_major(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def values(tensor):
    flat = tensor.detach().contiguous().reshape(-1)
    flat = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
    return flat.to(torch.float64)


def judge(stated, sent):
    tensor = to_torch(sent)
    expected = torch.tensor([float(v) for v in stated["values"]], dtype=torch.float64)
    found = {
        "dtype": str(tensor.dtype) == "torch." + stated["dtype"],
        "shape": list(tensor.shape) == stated["shape"],
        "requires_grad": tensor.requires_grad == stated["requires_grad"] and tensor.is_leaf,
        "bytes": row_major(tensor).hex() == stated["row_major_hex"],
        "values": torch.equal(torch.nan_to_num(values(tensor)), torch.nan_to_num(expected)),
    }
    return [what for what, fits in found.items() if not fits]


def main(oracle, folder):
    tensors = json.loads(Path(oracle).read_text())["tensors"]
    messages = sorted(Path(folder).glob("*.msg"))
    faults = []
    for path in messages:
        stated = tensors[int(path.stem.rpartition("-")[2])]
        [(_, sent)] = reader.read(path.read_bytes())
        faults += [f"{path.name} ({stated['name']}): {what}" for what in judge(stated, sent)]
    print("\n".join(faults + [f"{len(messages)} messages read by torch {torch.__version__}"]))
    return 1 if faults or not messages else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
