"""Entities: spellings agree, namesakes stay apart, and every script gives something to compare."""

import logging

import pytest

from memsif_ray.clients.entities import RuleEntities, SpacyEntities, make_entities
from memsif_ray.errors import ConfigError

MENTIONS = {
    "D1:1": "QRT",
    "D9:3": "QRT",
    "D2:1": "RX1603",
    "D2:2": "RX1605",
    "D3:1": "Sam (my dog)",
    "D3:4": "Sam Okafor from accounts",
    "D4:1": "Zo\u00eb",
    "D6:1": "Zoe\u0308",
    "D7:1": "zo\u00eb.",
}
GROUPS = [{"D1:1", "D9:3"}, {"D2:1"}, {"D2:2"}, {"D3:1"}, {"D3:4"}, {"D4:1", "D6:1", "D7:1"}]


@pytest.fixture(scope="module")
def spacy_entities():
    pytest.importorskip("spacy")
    return make_entities("spacy")


@pytest.fixture(params=["rules", "spacy"])
def extractor(request):
    return RuleEntities() if request.param == "rules" else request.getfixturevalue("spacy_entities")


def one(extractor, text):
    return extractor.extract([text])[0]


def test_shared_entities_are_exactly_the_expected_groups(extractor):
    for wrap in ("{}", "Yesterday I talked about {}"):
        sets = dict(
            zip(MENTIONS, extractor.extract([wrap.format(m) for m in MENTIONS.values()]), strict=True)
        )
        together = [{b for b in MENTIONS if sets[a] & _without_frame(sets[b])} for a in MENTIONS]
        assert all(group in GROUPS for group in together), (wrap, sets)


def _without_frame(entities):
    return entities - {"talked", "yesterday"}


def test_one_set_per_text_in_order_and_blank_texts_give_none(extractor):
    texts = ["", "The piano is in Quito.", "   ", "下周去 Ghent 看 Žofie。", "ok", "\ud83c The piano\0"]
    sets = extractor.extract(texts)
    assert len(sets) == len(texts)
    assert [bool(entities) for entities in sets] == [False, True, False, True, False, True]
    assert "piano" in sets[1] & sets[5]
    assert extractor.extract([]) == []


def test_the_same_texts_give_the_same_sets_whatever_the_batch(extractor):
    texts = ["Bram sold my bike.", "我周五在杭州学做陶器。", "RX1603 arrived in Ghent on 23 July, 2023."] * 3
    whole = extractor.extract(texts)
    assert whole == extractor.extract(texts) == [one(extractor, text) for text in texts]


def test_titles_tags_codes_numbers_and_dates(extractor):
    found = one(extractor, "I read “The Lost Sea” on 23 July, 2023, page 117, gate RX1603 #travel.")
    assert {"the lost sea", "2023-07-23", "117", "rx1603", "travel"} <= found


def test_full_names_stay_whole(extractor):
    assert "sam okafor" in one(extractor, "We met Sam Okafor there.")
    assert one(extractor, "We met Sam Okafor there.").isdisjoint({"sam", "okafor"})


def test_function_words_and_small_talk_are_no_entities(extractor):
    assert one(extractor, "Hey, thanks! I'll do it for you, and you're great. Yeah.") == frozenset()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("我在杭州学做陶器。", "杭州的陶器很美"),
        ("أعمل في مكتبة صغيرة.", "رأيت مكتبة كبيرة"),
        ("ฉันชอบแมว", "แมวของฉัน"),
        ("Я купил пианино", "моё пианино"),
        ("나는 피아노를 샀다", "피아노를 팔았다"),
    ],
)
def test_other_scripts_overlap_where_they_share_words(extractor, a, b):
    assert one(extractor, a) & one(extractor, b)


def test_rules_serve_languages_with_spaces():
    found = one(RuleEntities(), "Ik heb mijn fiets aan Bram verkocht, in Den Haag.")
    assert {"fiets", "bram", "verkocht", "den haag"} <= found


def test_spacy_gives_noun_phrases_and_their_nouns(spacy_entities):
    assert isinstance(spacy_entities, SpacyEntities)
    found = one(
        spacy_entities, "I ran two charity races and told her great stories about Harry Potter books."
    )
    assert {"charity race", "race", "story", "harry potter"} <= found
    assert found.isdisjoint({"i", "her", "ran", "told", "races", "stories"})


def test_without_the_model_auto_falls_back_and_says_so_once(caplog):
    with caplog.at_level(logging.WARNING):
        first, second = (make_entities("auto", model="no_such_model") for _ in range(2))
    assert isinstance(first, RuleEntities)
    assert isinstance(second, RuleEntities)
    assert caplog.text.count("no_such_model") == 1
    with pytest.raises(ConfigError, match="memsif-ray"):
        make_entities("spacy", model="no_such_model")
    assert isinstance(make_entities("rules"), RuleEntities)
