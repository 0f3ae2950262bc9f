"""Typed, frozen configuration. Defaults are the MemSIF paper's (Table 13) unless a comment says why not.

`RunConfig.identity()` is what a run *means*: it is hashed into the run's folder. `ExecutionConfig`
says only how fast it goes and stays outside the hash, so tuning never creates a "new" result.
Secrets never appear here: models name the environment variable that holds their key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from memsif_ray.errors import ConfigError

Decider = Literal["auto", "llm", "rule"]
"""Who makes a decision. `auto` asks the model's capability profile (clients/capabilities.py)."""


class Strict(BaseModel):
    """Refuses unknown keys, so that a typo fails before any work starts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class MatchingConfig(Strict):
    """φ of equation (1)."""

    alpha: float = Field(0.8, ge=0, le=1, description="Weight of semantic similarity against entity overlap")
    normalisation: Literal["clip", "affine"] = Field(
        "clip", description="clip = max(0, cos); affine = (1 + cos) / 2, under which splits all but vanish"
    )


class SegmentConfig(Strict):
    """Topical Segments. Thresholds of None mean the preset of the embedder in use."""

    tau_split: float | None = Field(None, description="φ at or below it opens a segment (paper: 0.325)")
    tau_merge: float | None = Field(None, description="φ at or above it appends (paper: 0.60)")
    decide: Decider = "auto"
    lookahead: int = Field(2, ge=0, description="Following messages shown to a boundary judge; 0 = streaming")
    unit: Literal["topic", "message"] = Field(
        "topic", description="message = every message is a unit of its own (the ablation w/o TS)"
    )

    @model_validator(mode="after")
    def _ordered(self) -> SegmentConfig:
        if self.tau_split is not None and self.tau_merge is not None and self.tau_split >= self.tau_merge:
            raise ValueError(f"tau_split ({self.tau_split}) must lie below tau_merge ({self.tau_merge})")
        return self


class TrajectoryConfig(Strict):
    """Event Trajectories."""

    enabled: bool = Field(True, description="False leaves Topical Segments alone (the ablation w/o ET)")
    top_k: int = Field(3, ge=1)
    decide: Decider = "auto"
    tau_join: float | None = Field(
        None, description="Rule only: φ at or above it joins; None = embedder preset"
    )


class CoreFactConfig(Strict):
    """CoreFact track and its schema Y_core, fixed for a run (3.3)."""

    enabled: bool = True
    types: dict[str, str] = {
        "Identity": "static attributes of a person, such as occupation, home or age",
        "Event": "time-anchored occurrences, such as travel, achievements or appointments",
        "Preference": "subjective attitudes, such as liked food, entertainment or career wishes",
        "Relation": "social ties, such as family, friends, colleagues or pets",
    }
    extract: Decider = "auto"
    consolidate: Decider = "auto"
    top_k: int = Field(3, ge=1, description="Existing facts offered to a consolidation decision")


class ActiveFactConfig(Strict):
    """ActiveFact track (3.4)."""

    enabled: bool = True
    theta_source: float = Field(0.45, ge=0, le=1)
    theta_query: float = Field(0.45, ge=0, le=1)
    tau_compatible: float = Field(0.55, description="Cosine at or above it: statements are compatible")
    tau_duplicate_query: float = Field(0.95, description="Cosine at or above it: the same question again")
    synthesise: Decider = "auto"


class RetrievalConfig(Strict):
    """Read path (3.5) and interaction retrieval."""

    facts_top_k: int = Field(10, ge=1)
    ranking: Literal["structural", "dense"] = Field(
        "structural",
        description="structural fuses dense, lexical and structural signals; dense is the paper's",
    )
    sufficiency: Decider = "auto"
    evidence: Literal["auto", "distil", "extract", "none"] = Field(
        "auto",
        description="distil = an LLM writes statements (paper); extract = near-verbatim, dated, no LLM; "
        "none = facts alone (the ablation w/o AF)",
    )
    context_tokens: int = Field(1024, ge=1, description="Token budget of an answer context")
    # LoCoMo 26 and 44, 0.5B model: token-F1 0.34 from 1,024 tokens of ranked messages, 0.39 from 512.
    extract_tokens: int = Field(
        512, ge=1, description="Most of it that `extract` fills: more only distracts the models that need it"
    )


class MemoryConfig(Strict):
    """Everything that shapes MemSIF's memory."""

    matching: MatchingConfig = MatchingConfig()
    segments: SegmentConfig = SegmentConfig()
    trajectories: TrajectoryConfig = TrajectoryConfig()
    core: CoreFactConfig = CoreFactConfig()
    active: ActiveFactConfig = ActiveFactConfig()
    retrieval: RetrievalConfig = RetrievalConfig()


class PackingConfig(Strict):
    """A hard token cap on what the answer prompt shows, for every method alike, and how to keep it (OAS)."""

    budget: int | None = Field(None, ge=0, description="Tokens of the rendered context; None = no cap")
    policy: Literal["retain", "merge", "abstract", "rewrite", "router", "router-safe"] = "retain"
    router: Annotated[Path, AfterValidator(Path.resolve)] | None = Field(
        None, description="File of a trained router, on storage that every node sees"
    )
    candidate_tokens: int = Field(
        2048, ge=1, description="Best lines that are offered to any policy (the paper's candidate cap)"
    )

    @model_validator(mode="after")
    def _complete(self) -> PackingConfig:
        if self.policy != "retain" and self.budget is None:
            raise ValueError(f"policy {self.policy!r} packs into a budget: pass --budget TOKENS")
        if self.policy.startswith("router") != (self.router is not None):
            raise ValueError("policies router and router-safe, and no other, need a router: --router FILE")
        return self


class LabellingConfig(Strict):
    """Offline outcomes that a packing router learns from: every action at every budget (OAS, 3.3, 7.3)."""

    evidence: Literal["gold", "bm25"] = Field(
        "gold",
        description="gold = the turns that hold the answer; bm25 = the best turns of the whole history",
    )
    turns: int = Field(20, ge=1, description="Turns that bm25 finds; packing.candidate_tokens caps them")
    budgets: tuple[Annotated[int, Field(gt=0)], ...] = Field((), description="Empty = the paper's")
    realisations: int = Field(3, ge=1, description="Repeats per question, budget and action")
    utility: Literal["f1", "rules", "judge"] = Field(
        "f1",
        description="f1 = LoCoMo's score; rules = that, accepted or not, and exact dates; judge = a model",
    )
    sample: int | None = Field(
        None, ge=1, description="Questions, drawn over types and lengths of evidence; None = all"
    )


class ModelConfig(Strict):
    """A chat model: the embedded one, or any OpenAI-compatible endpoint."""

    base_url: str | None = Field(
        None, description="e.g. http://host:8000/v1; None starts the embedded engine"
    )
    model: str = Field(
        "qwen2.5-coder-0.5b",
        description="Served name; embedded: qwen2.5-coder-0.5b, smollm2-135m, a .gguf, a folder or a hub id",
    )
    api_key_env: str = Field("OPENAI_API_KEY", description="Environment variable that holds the key")
    structured_output: Literal["auto", "json_schema", "prompt"] = "auto"
    thinking: bool = Field(False, description="Qwen3 runs in non-thinking mode, as in the paper")
    deadline_s: float = Field(300.0, gt=0, description="Overall limit of one call, retries included")
    max_in_flight: int = Field(16, ge=1, description="Concurrent calls per process")
    context_window: int = Field(32768, ge=512)


JudgeProfile = Literal["memsif", "longmemeval", "lenient", "strict-exact"]
"""Names in `evaluation.profiles`."""


class JudgingConfig(Strict):
    """How a judge grades."""

    profile: JudgeProfile = "memsif"
    votes: int = Field(1, ge=1, description="Times each answer is judged; more than half of them decide")

    @property
    def label(self) -> str:
        """What verdicts call it."""
        return self.profile if self.votes == 1 else f"{self.profile}+{self.votes}-votes"


class EmbedderConfig(Strict):
    """A sentence embedder: sentence-transformers in process, or an OpenAI-compatible endpoint."""

    base_url: str | None = None
    model: str = Field("all-MiniLM-L6-v2", description="Bundled name, local path or hub id; or served name")
    api_key_env: str = "OPENAI_API_KEY"


class DataConfig(Strict):
    """Which questions about which conversations."""

    dataset: Literal["sample", "locomo", "longmemeval"] = "sample"
    path: Path | None = None
    conversations: tuple[str, ...] = Field((), description="Ids to keep; empty = all")
    questions: tuple[str, ...] = Field((), description="Question ids to keep; empty = all")
    limit: int | None = Field(None, ge=1, description="At most this many questions per conversation")
    adversarial: bool = Field(True, description="Also ask questions whose right reply is to abstain")
    point_in_time: bool = Field(False, description="LongMemEval: drop sessions dated after the question")

    @model_validator(mode="after")
    def _has_path(self) -> DataConfig:
        if self.dataset != "sample" and self.path is None:
            raise ValueError(f"dataset {self.dataset!r} needs a path: pass --data FILE")
        return self


class ExecutionConfig(Strict):
    """How fast, never what: outside the fingerprint."""

    output: Path = Path("runs")
    shards: int = Field(2, ge=1, description="Stateful shard actors")
    units_in_flight: int = Field(8, ge=1, description="Conversations worked on at a time")
    ray_address: str | None = Field(None, description="None starts or joins a local Ray")


class RunConfig(Strict):
    """One benchmark run."""

    data: DataConfig = DataConfig()
    methods: tuple[str, ...] = ("memsif", "naive-rag", "full-context")
    runs: int = Field(1, ge=1, description="Independent runs; a question's score is their mean (paper: 3)")
    seed: int = 2026
    model: ModelConfig = ModelConfig()
    judge: ModelConfig | None = Field(None, description="None = the same endpoint as `model`")
    grade: bool = Field(True, description="False skips the LLM judge; F1 and evidence recall remain")
    judging: JudgingConfig = JudgingConfig()
    state: Literal["online", "cold"] = Field(
        "online",
        description="online = what a question teaches helps later ones (paper); cold = each question meets "
        "the memory as it was built",
    )
    order: Literal["fixed", "per-run"] = Field(
        "fixed",
        description="Of the questions of a conversation: the same in every run (paper), or every run its own",
    )
    embedder: EmbedderConfig = EmbedderConfig()
    entities: Literal["auto", "spacy", "rules"] = "auto"
    memory: MemoryConfig = MemoryConfig()
    baselines: dict[str, dict[str, Any]] = Field(
        {}, description="Settings of compared systems by name, e.g. {com: {beta: 0.5}}"
    )
    packing: PackingConfig = PackingConfig()
    labelling: LabellingConfig = LabellingConfig()
    answer_max_tokens: int = Field(512, ge=1)
    answer_temperature: float = Field(0.1, ge=0)
    execution: ExecutionConfig = ExecutionConfig()

    def identity(self) -> dict[str, Any]:
        """The part that decides results, as plain data.

        Where an endpoint is reached is not part of it: a server that moves is still the same model. Nor are
        settings that came later, while they have their default: what ran before them meant the same.
        """
        plain: dict[str, Any] = self.model_dump(mode="json", exclude={"execution"})
        for dotted in _LATER:
            _drop_default(plain, _PLAIN_DEFAULTS, dotted)
        for name in ("model", "judge", "embedder"):
            for how in ("base_url", "api_key_env", "max_in_flight", "deadline_s"):
                if plain[name]:
                    plain[name].pop(how, None)
        return plain


_LATER = (
    "state",
    "order",
    "packing",
    "labelling",
    "judging",
    "memory.segments.unit",
    "memory.trajectories.enabled",
)
"""Settings that runs were fingerprinted without before they existed."""
_PLAIN_DEFAULTS: dict[str, Any] = RunConfig().model_dump(mode="json")


def _drop_default(plain: dict[str, Any], defaults: dict[str, Any], dotted: str) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        plain, defaults = plain[parent], defaults[parent]
    if plain[last] == defaults[last]:
        del plain[last]


def fingerprint(*parts: Any) -> str:
    """Twelve hex digits that change when any part changes; parts are plain data or strings."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def load_run_config(path: Path | None = None, overrides: dict[str, Any] | None = None) -> RunConfig:
    """Defaults < YAML file < overrides (dotted keys such as `memory.segments.tau_split`).

    Raises:
        ConfigError: When the file is missing, is not a mapping, or holds an unknown or wrong value.
    """
    plain = {} if path is None else read_settings(path)
    for dotted, value in (overrides or {}).items():
        _set(plain, dotted, value)
    return _validated(plain, path)


def load_sweep(path: Path, overrides: dict[str, Any] | None = None) -> list[tuple[dict[str, Any], RunConfig]]:
    """The runs of a file whose `sweep` lists settings: what each changes, with its whole configuration.

    Settings in `sweep` are dotted like overrides, and win over them.

    Raises:
        ConfigError: As for `load_run_config`; also when there is no list of mappings called `sweep`.
    """
    plain = read_settings(path)
    points = plain.pop("sweep", None)
    if not isinstance(points, list) or not points or not all(isinstance(one, dict) for one in points):
        raise ConfigError(f"configuration {path} needs a list of settings called sweep")
    runs = []
    for point in points:
        one = deepcopy(plain)
        for dotted, value in {**(overrides or {}), **point}.items():
            _set(one, dotted, value)
        runs.append((point, _validated(one, path)))
    return runs


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a YAML file, not checked yet.

    Raises:
        ConfigError: When the file is missing or is not a mapping.
    """
    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as exc:
        raise ConfigError(f"cannot read configuration {path}: {exc}") from exc
    if not isinstance(plain, dict):
        raise ConfigError(f"configuration {path} must be a mapping of settings")
    return plain


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Overrides from texts such as `memory.segments.tau_split=0.3`; values are YAML.

    Raises:
        ConfigError: When one is no `key=value`, or its value no YAML.
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set wants KEY=VALUE, not {pair!r}")
        try:
            found[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as exc:
            raise ConfigError(f"--set {key}: {value!r} is no YAML value") from exc
    return found


def _validated(plain: dict[str, Any], path: Path | None) -> RunConfig:
    try:
        return RunConfig.model_validate(plain)
    except ValidationError as exc:
        raise ConfigError(_explain(exc, path)) from exc


def _set(plain: dict[str, Any], dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        plain = plain.setdefault(parent, {})
        if not isinstance(plain, dict):
            raise ConfigError(f"cannot set {dotted}: {parent} is not a section")
    plain[last] = value


def _explain(exc: ValidationError, path: Path | None) -> str:
    source = str(path) if path else "command line"
    lines = [f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in exc.errors()]
    return f"configuration from {source}: " + "; ".join(lines)
