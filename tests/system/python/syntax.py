# SPDX-License-Identifier: Apache-2.0
"""The package's sources must parse as Python 3.9, whichever Python this is."""
import ast
import pathlib

files = sorted(pathlib.Path("libclient/python/simclient").glob("*.py"))
for path in files:
    ast.parse(path.read_text(), str(path), feature_version=(3, 9))
print(len(files), "files")
