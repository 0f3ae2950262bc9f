"""Conversations as the API would tell of them, written down by hand for the inspector to show."""

from datetime import UTC, datetime, timedelta

from memsif_ray.datasets import sample
from memsif_ray.service.models import Candidate, HistoryEntry, SourceMessage
from tests.e2e.recorded import Recorded

THETA = 0.45


def message(position: int, content: str, *, name: str, session: int, at: datetime, key: str) -> SourceMessage:
    return SourceMessage(
        id=f"msg_{key}_{position}",
        position=position,
        session=session,
        role="user",
        name=name,
        content=content,
        timestamp=at,
    )


def ines_and_rowan() -> Recorded:
    """Half a year of two friends, from the bundled sample."""
    history = next(h for h in sample.histories() if h.conversation.conversation_id == "ines-rowan")
    recorded = Recorded(
        "ines-rowan",
        "ines",
        [
            message(m.position, m.text, name=m.speaker, session=m.session, at=m.timestamp, key="ines")
            for m in history.conversation.messages
        ],
    )
    recorded.cut(
        [
            (0, "Marlowe hotel|bookbinding class"),
            (6, "Rowan's knee|swimming"),
            (8, "Biscuit|animal shelter|landlord"),
            (12, "hazelnuts|picnic"),
            (14, "Biscuit|striped rug"),
            (17, "Mr. Abara|bindery|Hebden Bridge"),
            (24, "Ines's mother|blue casserole dish"),
            (28, "bindery|parish registers"),
            (31, "Biscuit|Brooks saddle|Odette"),
            (37, "espresso|moka pot"),
            (40, "Calder Street|rent"),
            (43, "bike course|Femi|Odette"),
            (49, "Abara & Daughter|apprenticeship"),
            (57, "apprenticeship|Garnet Row"),
            (62, "bike course|Biscuit|vet"),
            (67, "tai chi|Odette|concert"),
            (72, "concert|harpsichord|Couperin"),
            (80, "Ines's mother|blue casserole dish"),
            (84, "duck umbrella|lost property"),
            (86, "Station Road|Odette's workshop"),
            (91, "1793 register|bindery"),
            (92, "Ines's mother|cheese pie"),
            (95, "duck umbrella|Gerald"),
            (96, "moka pot|peppermint tea"),
        ],
        open_last=True,
    )
    recorded.join("bindery|Mr. Abara|apprenticeship", 0, 5, 7, 12, 13, 20)
    recorded.join("Biscuit|lurcher", 2, 4, 8, 14)
    recorded.join("Odette|harpsichord", 11, 15, 16, 19)
    recorded.join("blue casserole dish|Ines's mother", 6, 17, 21)
    recorded.join("duck umbrella", 18, 22)
    recorded.join("coffee|moka pot", 9, 23)
    _add_facts(recorded)
    _add_candidates(recorded)
    return recorded


def _add_facts(recorded: Recorded) -> None:
    def day(month, number):
        return datetime(2024, month, number)

    apprentice = recorded.fact(
        "Ines is an apprentice at the bindery Abara & Daughter, four days a week.",
        50, 57,
        type="Occupation", subject="Ines", attribute="job", valid_from=day(6, 3), version=2,
    )  # fmt: skip
    recorded.history[apprentice] = (
        HistoryEntry(
            op="ADD", text="Mr. Abara has offered Ines a post as an apprentice, from 3 June.",
            status="active", at=datetime(2024, 5, 12, 21, 30, tzinfo=UTC), decided_by="model",
            reason="A new job, not yet begun.",
        ),
        HistoryEntry(
            op="UPDATE", text="Ines is an apprentice at the bindery Abara & Daughter, four days a week.",
            status="active", at=datetime(2024, 6, 9, 19, tzinfo=UTC), decided_by="model",
            reason="She has begun: one week as an official apprentice.",
            targets=("mem_ines_1",),
        ),
    )  # fmt: skip
    recorded.fact(
        "Ines works on the front desk of the Marlowe hotel.", 0, 1, 2,
        type="Occupation", subject="Ines", attribute="job", valid_to=day(6, 1),
        status="superseded", replaced_by=apprentice, version=2,
    )  # fmt: skip
    recorded.fact(
        "Ines lives at 14 Garnet Row in Hebden Bridge.", 54, 59, 61,
        type="Location", subject="Ines", attribute="home", valid_from=day(6, 1),
    )  # fmt: skip
    recorded.fact(
        "Ines pays 780 pounds of rent on Calder Street.", 40, 42,
        type="Location", subject="Ines", attribute="home", valid_from=day(3, 3), valid_to=day(6, 1),
    )  # fmt: skip
    recorded.fact(
        "Ines is allergic to hazelnuts: her lips swell up.", 12, 56, 99,
        type="Health", subject="Ines", attribute="allergy",
    )  # fmt: skip
    recorded.fact(
        "Rowan has a grey lurcher called Biscuit.", 9, 14,
        type="Relationship", subject="Rowan", attribute="pet", valid_from=day(3, 23),
    )  # fmt: skip
    recorded.fact(
        "Rowan drinks rooibos instead of espresso.", 37,
        type="Preference", subject="Rowan", attribute="drink", valid_from=day(4, 18), valid_to=day(7, 7),
    )  # fmt: skip
    recorded.fact(
        "Rowan is with Odette, who builds harpsichords.", 35, 47, 68,
        type="Relationship", subject="Rowan", attribute="partner", valid_from=day(5, 10),
    )  # fmt: skip
    recorded.fact(
        "Rowan returned the blue casserole dish on 21 July, full of cheese pie.", 26, 83, 93,
        type="Event", subject="Rowan", attribute="dish", track="active", event_time=day(7, 21),
        queries=("What happened to the blue dish?", "Did Rowan bring the casserole back?"),
    )  # fmt: skip


def _add_candidates(recorded: Recorded) -> None:
    dish = (
        "Rowan brought the blue casserole dish back full of cheese pie.",
        "Ines's mother had been counting her dishes.",
    )
    about = [
        ("Rowan", dish, 3, (26, 83, 93), 0.71, 0.58, "mem_ines_8"),
        ("Ines", ("The duck umbrella came back from Blackpool.",), 2, (84, 95), 0.52, 0.31, None),
        ("Odette", ("Odette plays Couperin when she cannot sleep.",), 1, (75,), 0.24, 0.2, None),
    ]
    asked = ("What happened to the blue dish?", "Did Rowan bring the casserole back?", "Who has mum's dish?")
    for number, (subject, statements, queries, positions, source, query, promoted) in enumerate(about):
        recorded.candidates.append(
            Candidate(
                id=f"cand_ines_{number}",
                subject=subject,
                statements=statements,
                queries=asked[:queries],
                sources=tuple(str(p) for p in positions),
                message_ids=tuple(recorded.messages[p].id for p in positions),
                source_score=source,
                query_score=query,
                theta_source=THETA,
                theta_query=THETA,
                promoted=promoted,
            )
        )


HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def hostile() -> Recorded:
    """Every text is an attack or hard to lay out."""
    texts = [
        HOSTILE,
        "\u202eevil \u2066mixed\u2069 direction",
        "שלום, עברתי לחיפה בחודש מאי. איך מגיעים לשם?",
        "我五月份搬到了乌得勒支，现在每天骑自行车去上班。" * 4,
        "W" * 2_000,
        "A long story 👩‍🍳 " * 1_500,
        "javascript:alert(1) \x1b[31m &lt;b&gt; {{7*7}} ${7*7}",
    ]
    at = datetime(2024, 5, 1, 9)
    name = 'مريم"><svg onload=1>'
    recorded = Recorded(
        HOSTILE.replace("/", "|"),
        "h",
        [message(i, text, name=name, session=1, at=at, key="h") for i, text in enumerate(texts)],
    )
    recorded.cut([(0, HOSTILE), (2, "עברית|中文|" + "W" * 300)])
    recorded.join(HOSTILE, 0, 1)
    recorded.fact(
        HOSTILE, 0, 3, type=HOSTILE, subject=HOSTILE, attribute=HOSTILE, valid_from=at, queries=(HOSTILE,)
    )
    recorded.candidates.append(
        Candidate(
            id="cand_h", subject=HOSTILE, statements=(HOSTILE, "W" * 500), queries=(HOSTILE,), sources=("1",),
            message_ids=("msg_h_0",), source_score=1.0, query_score=0.0, theta_source=THETA,
            theta_query=THETA, promoted=None,
        )
    )  # fmt: skip
    return recorded


def long() -> Recorded:
    """Ten thousand messages in a thousand topics; one fact rests on message 7,003."""
    start = datetime(2023, 1, 1, 8)
    recorded = Recorded(
        "long",
        "l",
        [
            message(
                i, f"This is message number {i}.", name=("Ann", "Bo")[i % 2], session=i // 40,
                at=start + timedelta(days=i // 40, minutes=i % 40), key="l",
            )
            for i in range(10_000)
        ],
    )  # fmt: skip
    recorded.cut([(i * 10, f"topic {i}") for i in range(1_000)])
    for i in range(0, 900, 9):
        recorded.join(f"thread {i}", i, i + 5, i + 31)
    for i in range(120):
        recorded.fact(f"Fact number {i}.", 7_003, type="Event", subject="Ann", valid_from=start)
    return recorded


def sundry() -> list[Recorded]:
    """Enough small conversations for two pages of the list."""
    at = datetime(2024, 2, 1, 10)
    return [
        Recorded(f"s-{i:03d}", f"s{i}", [message(0, "Hello.", name="Ann", session=1, at=at, key=f"s{i}")])
        for i in range(60)
    ]
