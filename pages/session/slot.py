"""What the session of a reader keeps between reruns: nothing else asks Streamlit for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import streamlit as st

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

T = TypeVar("T")


@dataclass(frozen=True)
class Slot(Generic[T]):
    """One thing that a session keeps under a name; the default until something is kept there.

    What is kept is a value: it is replaced, never changed in place.
    """

    name: str
    default: T

    def get(self) -> T:
        """What is kept."""
        found: T = st.session_state.get(self.name, self.default)
        return found

    def take(self) -> T:
        """What is kept, which from now on is not."""
        found: T = st.session_state.pop(self.name, self.default)
        return found

    def of(self, tested: "AppTest") -> T:
        found: T = tested.session_state.get(self.name, self.default)
        return found

    def keep(self, value: T) -> None:
        """Replace what is kept."""
        st.session_state[self.name] = value


def shown_by(key: str) -> Any:
    return st.session_state[key]
