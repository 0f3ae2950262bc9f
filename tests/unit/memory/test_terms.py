"""Terms are comparable across word forms and scripts."""

from memsif_ray.memory.terms import content_words, scripts, stems


def test_word_forms_share_a_stem_and_function_words_vanish():
    assert content_words("I own what she owned, and he owns it.") == ["own", "owned", "owns"]
    assert set(stems(["own", "owned", "owns"])) == {"own"}


def test_unspaced_scripts_give_pairs_of_characters():
    assert content_words("杭州陶器 in Ghent 看") == ["杭州", "州陶", "陶器", "ghent", "看"]
    assert content_words("") == []


def test_scripts_are_those_of_letters():
    assert scripts("Žofie, 12 €") == {"LATIN"}
    assert scripts("下周 カメラ") == {"CJK"}
    assert scripts("مكتبة Ghent") == {"ARABIC", "LATIN"}
    assert scripts("12:30 🎹") == frozenset()
