"""A recorded run is opened from its tape, and shows any of its ticks as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.service_fixtures import Json, Page, Picture, Server, Talk, film, serving
from tests.support.service_nodes import picture
from tests.http.test_socket import decode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 2) as server:
        yield server
