"""Where readers wait for each other who come at once to a server that has just started.

Two threads that enter a package by different doors can each see half of what the other has begun
to import. So every page imports this module first, whose lock lets one reader through: it imports
the packages whose doors lead to each other. What a page imports beyond them has no circles.
"""

from blocks import corpora, cost, inspection, model, observe, text, training, weights, work
from pages.page import frame

rooms = (corpora, cost, inspection, model, observe, text, training, weights, work, frame)
