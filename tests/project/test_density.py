"""The script that counts how dense our code is counts what it says."""

from __future__ import annotations

import ast

from tests.project import docstrings
from tests.project.density import count, find_nested

SOURCE = '''
"""A docstring."""

# a comment
def names(rows, short):
    """Another one."""
    return [row.name if short else row.title for row in rows]

print(",".join(sorted({row.name for row in rows})))
'''


def test_comprehensions_and_conditionals_are_counted_and_docstrings_are_no_statements() -> None:
    density = count(SOURCE)
    assert (density.statements, density.comprehensions, density.conditionals) == (3, 2, 1)
    assert density.lines == 3


def test_what_stands_inside_another_or_two_calls_deep_is_nested() -> None:
    nested = [found.source for found in find_nested(ast.parse(SOURCE))]
    assert nested == ["row.name if short else row.title", "{row.name for row in rows}"]


def test_one_call_around_a_comprehension_and_a_function_around_it_are_not() -> None:
    source = (
        "def found(rows):\n    def inner():\n        return sorted(row for row in "
        "rows)\n    return inner\n"
    )
    assert not list(find_nested(ast.parse(source)))


def test_the_layout_of_lines_changes_no_count() -> None:
    short, long = (
        count("x = [a for a in b if c]\n"),
        count("x = [\n    a\n    for a in b\n    if (c)\n]\n"),
    )
    assert (short.statements, short.comprehensions) == (long.statements, long.comprehensions)
    assert short.lines < long.lines


DOCUMENTED = '''
"""What a module has."""

limit = 3
"""Whether this counts: it does."""

class Base:
    """A base class."""

    def run(self):
        """Run."""

    def stop(self): pass

class Child(Base):
    def run(self): pass

class _Private:
    def hidden(self): pass

def bare(): pass
'''


def test_question_words_are_counted_in_docstrings_of_attributes_too() -> None:
    tree = ast.parse(DOCUMENTED)
    counts = docstrings.count(tree, docstrings.Classes([tree]))
    assert (counts.docstrings, counts.questions) == (4, 2)


def test_a_public_method_may_inherit_its_docstring_and_private_classes_do_not_count() -> None:
    tree = ast.parse(DOCUMENTED)
    public = list(docstrings.find_public(tree, docstrings.Classes([tree])))
    assert [found.name for found in public] == [
        "module",
        "Base",
        "Base.run",
        "Base.stop",
        "Child",
        "Child.run",
        "bare",
    ]
    assert [found.name for found in public if not found.documented] == [
        "Base.stop",
        "Child",
        "bare",
    ]
