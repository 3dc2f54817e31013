#!/usr/bin/env python3
"""Runs the tests of libtorch's tensors on this machine, with the torch of this Python: `python3 run.py [FILTER]`."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# They need the repository, or a reader of messages beside the bundle.
LEFT_OUT = ["example::", "oracle::pythons_torch"]


def main():
    built_for = (HERE / "built-for").read_text().strip()
    spec = importlib.util.find_spec("torch")
    if spec is None:
        sys.exit(f"{sys.executable} has no torch; these tests were built for torch {built_for}")
    torch = Path(spec.submodule_search_locations[0])
    # Read and not imported, and before the tests are started: libraries of another version load, and then misbehave.
    version = re.search(r"__version__ = '([^']+)'", (torch / "version.py").read_text()).group(1)
    if series(version) != series(built_for):
        sys.exit(f"these tests were built for torch {built_for}, and {torch} is {version}: take the bundle of that version")
    library = torch / "lib"
    if not (library / "libtorch_cuda.so").exists():
        sys.exit(f"torch {version} in {torch} comes without CUDA")
    others = os.environ.get("LD_LIBRARY_PATH")
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{library}:{others}" if others else str(library)}
    skip = [word for name in LEFT_OUT for word in ("--skip", name)]
    print(f"torch {version} in {torch}, tests built for {built_for}", flush=True)
    sys.exit(subprocess.run([HERE / "tests", *skip, *sys.argv[1:]], env=environment).returncode)


def series(version):
    """`2.13` of `2.13.0+cu130`."""
    return version.split(".")[:2]


if __name__ == "__main__":
    main()
