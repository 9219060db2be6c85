"""Where the tokens that are read begin in their text: a number of ours, or one of the device."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class OnDevice:
    """The place of one token, (1,), which the device alone knows; there are `room` places.

    What is computed of it has the same shapes for every token.
    """

    place: Tensor
    room: int

    def row_of(self, table: Tensor) -> Tensor:
        """The row of its place: (place, …) to (1, …)."""
        return table.index_select(0, self.place)


Start = int | OnDevice
