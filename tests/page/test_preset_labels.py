"""What something to start from is called in a list."""

from pages.page.sidebar import preset_label


def test_a_model_is_called_as_people_say_it():
    called = {name: preset_label(name) for name in ("stories-en-zh", "gpt2-small", "translator")}
    assert called == {
        "stories-en-zh": "Stories (trained, 4 layers)",
        "gpt2-small": "GPT-2 small (12 layers)",
        "translator": "Translator (trained, 2 + 2 layers)",
    }
