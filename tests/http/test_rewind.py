"""A recorded run is opened from its tape, and shows any of its ticks as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.service_fixtures import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 2) as server:
        yield server
