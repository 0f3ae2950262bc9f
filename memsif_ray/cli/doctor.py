"""`memsif doctor`: is this machine ready, and what can a model be trusted with?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import SOME_FAILED
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.config import RunConfig, load_run_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Group
    from rich.table import Table

    from memsif_ray.cli.checks import Finding
    from memsif_ray.probing.profile import Profile


def doctor(
    config: Annotated[
        Path | None, typer.Argument(help="YAML file with the settings of a run.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Chat model; naming it also probes it.", show_default=False)
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint.", show_default=False)
    ] = None,
    embedder: Annotated[str | None, typer.Option("--embedder", help="Embedder.", show_default=False)] = None,
    probe: Annotated[
        bool | None,
        typer.Option("--probe/--no-probe", help="Put the probe set to the model: some 110 short questions."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Also keep the profile in this folder.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine and, with --model, measure which decisions the model can be trusted with.

    Each check says what to do. The probe runs the product's own prompts on items with known answers; a
    decision is trusted when the model is significantly better than chance and no worse than the rule that
    would decide without it. The profile is kept, and settings of "auto" follow it from then on.
    """
    overrides = {"model.model": model, "model.base_url": base_url, "embedder.model": embedder}
    run_config = load_run_config(config, {k: v for k, v in overrides.items() if v is not None})
    with stdout_kept_clean():
        findings = _checked(run_config)
        wanted = probe if probe is not None else model is not None
        profile = _probed(run_config, save) if wanted and _usable(findings) else None
    plain = {
        "checks": [one._asdict() for one in findings],
        "profile": None if profile is None else profile.to_plain(),
    }
    print_result(plain, _shown(findings, profile), as_json=as_json)
    raise typer.Exit(0 if all(one.ok for one in findings if one.needed) else SOME_FAILED)


def _checked(config: RunConfig) -> list[Finding]:
    from memsif_ray.cli.checks import CHECKS

    findings = []
    for check in CHECKS:
        note(f"checking {check.__name__.removeprefix('check_')}")
        findings.append(check(config))
    return findings


def _usable(findings: Sequence[Finding]) -> bool:
    return all(one.ok for one in findings if one.name in ("model", "embedder", "entities"))


def _probed(config: RunConfig, save: Path | None) -> Profile:
    import asyncio

    from memsif_ray.cli.probing import probe_configured
    from memsif_ray.probing.lookup import save_profile

    profile = asyncio.run(probe_configured(config))
    note(f"kept in {save_profile(profile)}")
    if save is not None:
        note(f"kept in {save_profile(profile, folder=save)}")
    return profile


def _shown(findings: Sequence[Finding], profile: Profile | None) -> Group:
    from rich.console import Group
    from rich.text import Text

    parts: list[Text | Table] = []
    for one in findings:
        mark, style = (
            ("ok", "green") if one.ok else ("PROBLEM", "red") if one.needed else ("missing", "yellow")
        )
        parts.append(Text.assemble((f"{mark:8}", style), f"{one.name:10} {one.detail}"))
        if one.remedy:
            parts.append(Text(f"{'':19}→ {one.remedy}"))
    return Group(*parts, *([_profile_table(profile)] if profile else []))


def _profile_table(profile: Profile) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=profile.model, title_justify="left")
    for title in ("decision", "right", "score", "rule", "p", "trusted"):
        table.add_column(title, justify="left" if title in ("decision", "trusted") else "right")
    for one in profile.measured:
        verdict = "yes" if one.trusted else f"no: {one.reason}"
        row: list[Any] = [one.decision, f"{one.model.right}/{one.model.total}"]
        table.add_row(
            *row, f"{one.model.score:.2f}", f"{one.rule.score:.2f}", f"{one.model.p_value:.3f}", verdict
        )
    return table
