"""What a link carries for the page of feed-forward."""

from blocks.model.parts import MOST_EXPERTS
from pages.server.readers import Field, whole

LIKELIEST = -1  # the strongest unit of the pinned token, or the expert it is sent to first

FIELDS: dict[str, Field] = {
    "unit": Field(whole(LIKELIEST, 10**6), LIKELIEST),
    "expert": Field(whole(LIKELIEST, MOST_EXPERTS - 1), LIKELIEST),
}
