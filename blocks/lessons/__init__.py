"""Lessons: steps that ask before they show, and measurements that answer."""

from blocks.lessons.answers import Answer, measured
from blocks.lessons.lesson import Ask, AskKind, Lesson, Option, Step
from blocks.lessons.measures import MEASURES
from blocks.lessons.place import Place
from blocks.lessons.reading import read as read_lesson

__all__ = [
    "MEASURES",
    "Answer",
    "Ask",
    "AskKind",
    "Lesson",
    "Option",
    "Place",
    "Step",
    "measured",
    "read_lesson",
]
