"""What a link carries for other ways to attend."""

from pages.ui.readers import Field, flag, whole
from pages.ui.settings import MAX_TOKENS

LENGTHS = (128, 256, 512, 1024, 2048, 4096)

FIELDS: dict[str, Field] = {
    "kinds_window": Field(whole(1, MAX_TOKENS), 4),
    "kinds_stride": Field(whole(1, MAX_TOKENS), 4),
    "measure_kinds": Field(flag, False),
    "kinds_up_to": Field(whole(LENGTHS[0], LENGTHS[-1]), 2048),
}
