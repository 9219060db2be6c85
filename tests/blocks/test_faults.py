"""A fault is a template with values, and an error lists them."""

from blocks import ConfigError, Fault


def test_a_fault_is_its_text_with_its_values():
    assert str(Fault("{name} is {size}", {"name": "a", "size": 3})) == "a is 3"


def test_braces_in_a_value_stay_as_they_are():
    assert str(Fault("{name} is odd", {"name": "{size}"})) == "{size} is odd"


def test_an_error_lists_every_fault():
    faults = [Fault("one"), Fault("two")]
    error = ConfigError(faults)
    assert error.faults == tuple(faults)
    assert str(error) == "one\ntwo"
    assert isinstance(error, ValueError)
