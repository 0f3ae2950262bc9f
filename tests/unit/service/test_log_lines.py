"""What is logged about digestion says what failed and where, and quotes nobody."""

import json

import pytest

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.errors import MemsifError, ServiceError
from memsif_ray.service.models import OperationStatus
from tests.unit.service.serving import ME, said

CANARY = "xylophone-heron"


class Failing(HashEmbedder):
    """Quotes what it was asked in what it fails with."""

    def __init__(self, error):
        super().__init__(64)
        self._error = error

    async def embed(self, texts):
        raise self._error(f"cannot embed {texts[0]}")


def about(lines, event):
    (line,) = [line for line in lines() if line["event"] == event]
    assert CANARY not in json.dumps(lines())
    assert line["places"][-1].startswith("test_log_lines.py:") and line["places"][-1].endswith(" embed")
    return line


async def test_a_digestion_that_a_model_fails(service, lines):
    operation = await service(embedder=Failing(ServiceError)).ingest(ME, said(f"I say {CANARY}.", wait=True))
    assert operation.status is OperationStatus.FAILED
    line = about(lines, "digestion failed")
    assert (line["error"], line["operation"], line["level"]) == ("ServiceError", operation.id, "warning")


async def test_a_digestion_that_a_bug_stops(service, lines):
    with pytest.raises(MemsifError, match="stopped"):
        await service(embedder=Failing(ValueError)).ingest(ME, said(f"I say {CANARY}.", wait=True))
    line = about(lines, "digestion stopped")
    assert (line["error"], line["level"]) == ("ValueError", "error") and line["conversation"]
