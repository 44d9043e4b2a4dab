"""A hash of the meaning of source files, which decides whether saved results are still valid."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from itertools import filterfalse
from pathlib import Path

TEXT_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)
"""A string literal of C, which counts, or a comment, which does not."""


def hash_sources(paths: Iterable[Path]) -> str:
    """Return a SHA-1 of files, in hexadecimal, which ignores comments,
    docstrings and layout of Python and C.

    It may differ between versions of Python, because their syntax trees differ.
    """
    whole = hashlib.sha1()
    for path in paths:
        whole.update(hashlib.sha1(_meaning_of(path)).digest())
    return whole.hexdigest()


def _meaning_of(path: Path) -> bytes:
    if path.suffix == ".py":
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                body[:] = filterfalse(_is_docstring, body)
        return ast.dump(tree).encode()
    if path.suffix in (".c", ".h"):
        code = TEXT_OR_COMMENT.sub(r"\1 ", path.read_text())
        return " ".join(code.split()).encode()
    return path.read_bytes()


def _is_docstring(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
