"""The nouns of the system, as frozen values.

Gold answers live in [`Gold`][memsif_ray.types.Gold], apart from [`Question`][memsif_ray.types.Question]:
whatever builds prompts is handed questions only, so a reference answer cannot leak by accident.
"""

from memsif_ray.types.answers import Answer, Outcome, Verdict
from memsif_ray.types.chat import CallScope, ChatReply, ChatRequest
from memsif_ray.types.contexts import Context, ContextItem, Evidence
from memsif_ray.types.conversations import Category, Conversation, Gold, Message, Question
from memsif_ray.types.decisions import Decision
from memsif_ray.types.embeddings import Matrix, StoredVector, Vector
from memsif_ray.types.facts import CandidateCluster, Fact, FactOperation, Op, Track
from memsif_ray.types.notes import Note
from memsif_ray.types.structure import Segment, Trajectory

__all__ = [
    "Answer",
    "CallScope",
    "CandidateCluster",
    "Category",
    "ChatReply",
    "ChatRequest",
    "Context",
    "ContextItem",
    "Conversation",
    "Decision",
    "Evidence",
    "Fact",
    "FactOperation",
    "Gold",
    "Matrix",
    "Message",
    "Note",
    "Op",
    "Outcome",
    "Question",
    "Segment",
    "StoredVector",
    "Track",
    "Trajectory",
    "Vector",
    "Verdict",
]
