"""The course map names what is there: lessons, panels by their titles, assignments."""

import re
from pathlib import Path

from blocks.lessons import shelf
from pages.panels.course_map import WEEKS
from pages.stage import link

ROOT = Path(__file__).parent.parent.parent


def test_every_week_leads_to_what_is_there_and_every_lesson_and_assignment_has_its_week():
    shared = "".join(path.read_text("utf-8") for path in ROOT.glob("pages/panels/**/*.py"))
    for week in WEEKS:
        for title, page, name, settings in week.panels:
            own = (ROOT / f"pages/{page}.py", *ROOT.glob(f"pages/panels/{page}/*.py"))
            source = "".join(path.read_text("utf-8") for path in own)
            assert not link.read(dict(settings)).faults
            found = re.search(rf'"{name}",\s*(?:N_\("([^"]+)"\)|(?:\w+\.)?([A-Z_]+)),', source)
            assert found, (page, name)
            is_title = found[1] == title or f'N_("{title}")' in shared
            assert is_title, (page, name, title)
    assert {name for week in WEEKS for name in week.lessons} == {*shelf.names()}
    given = [f"{shelf.HOMEWORK}{week.homework}" for week in WEEKS if week.homework]
    assert sorted(given) == [*shelf.assignments()]
    assert len(WEEKS) == 16 and len(given) == 11
