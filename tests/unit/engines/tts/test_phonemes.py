import pytest

from engines.tts.phonemes import has_sound, to_voice


@pytest.mark.parametrize(
    ("ipa", "own"),
    [
        ("təˈmeɪtoʊ", "təmˈAtO"),
        ("təˈmɑːtoʊ", "təmˈɑtO"),
        ("ˈstɹɛŋkθ", "stɹˈɛŋkθ"),
        ("ˈbʌtn̩", "bˈʌtᵊn"),
        ("t͡ʃɔɪs", "ʧYs"),
        ("ˈdʒɝːni", "ʤˈɜɹni"),
        ("ˌʌndɚˈstænd", "ˌʌndəɹstˈænd"),
        ("aʊɚ", "Wəɹ"),
        ("həˈloʊ wɝld", "həlˈO wɜɹld"),
    ],
)
def test_phonemes_are_written_as_the_voice_knows_them(ipa: str, own: str):
    assert to_voice(ipa) == own


def test_marks_alone_are_no_sound():
    assert has_sound("ˈɑ")
    assert not has_sound(". ˈ, …")
