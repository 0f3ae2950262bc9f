"""The words of the memory API: requests and results, shared by the server, the clients and the tools.

Times are ISO 8601; one without an offset is the speaker's local time. Four names are used for four things:
`event_time` (when it happened), `ingested_at` (when memory learned it), `valid_from` and `valid_to` (when it
holds). Ids are opaque, prefixed (`mem_`, `seg_`, `trj_`, `cand_`, `msg_`, `op_`), and stay the same after
export and import.
"""

from memsif_ray.service.models.accounts import AuditEntry, TenantUsage, Usage
from memsif_ray.service.models.answers import AnswerRequest, AnswerResult
from memsif_ray.service.models.conversations import Bundle, ConversationOut, Erased
from memsif_ray.service.models.errors import ErrorDetail, ErrorOut
from memsif_ray.service.models.memories import HistoryEntry, Memory, MemoryChange, Successor
from memsif_ray.service.models.messages import BatchRequest, IngestRequest, MessageIn, SourceMessage
from memsif_ray.service.models.operations import BatchItem, BatchResult, Operation, OperationStatus
from memsif_ray.service.models.pages import Item, Page
from memsif_ray.service.models.searching import Found, SearchRequest, SearchResult
from memsif_ray.service.models.structure import Candidate, Provenance, SegmentOut, TrajectoryOut
from memsif_ray.service.models.words import (
    MAX_BATCH,
    MAX_CONTENT,
    ConversationId,
    Limit,
    Metadata,
    Model,
    Name,
    Policy,
    Text,
    cleaned,
)

__all__ = [
    "AnswerRequest",
    "AnswerResult",
    "AuditEntry",
    "BatchItem",
    "BatchRequest",
    "BatchResult",
    "Bundle",
    "Candidate",
    "ConversationId",
    "ConversationOut",
    "Erased",
    "ErrorDetail",
    "ErrorOut",
    "Found",
    "HistoryEntry",
    "IngestRequest",
    "Item",
    "Limit",
    "MAX_BATCH",
    "MAX_CONTENT",
    "Memory",
    "MemoryChange",
    "MessageIn",
    "Metadata",
    "Model",
    "Name",
    "Operation",
    "OperationStatus",
    "Page",
    "Policy",
    "Provenance",
    "SearchRequest",
    "SearchResult",
    "SegmentOut",
    "SourceMessage",
    "Successor",
    "TenantUsage",
    "Text",
    "TrajectoryOut",
    "Usage",
    "cleaned",
]
