"""Print what is quick and what is not: `make bench`."""

from tests.bench import browser, tensors

tensors.measure()
browser.measure()
