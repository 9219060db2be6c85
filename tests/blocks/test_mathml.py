"""Formulas as MathML say what KaTeX, which draws them on the screen, says of the same TeX."""

import json
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import playwright
import streamlit

from blocks.export.mathml import as_mathml

ROOT = Path(__file__).parent.parent.parent
KATEX = next((Path(streamlit.__file__).parent / "static/static/js").glob("katex.*.js"))
NODE = Path(playwright.__file__).parent / "driver/node"
SCRIPT = """
import katex from './katex.mjs';
let given = '';
for await (const part of process.stdin) given += part;
const written = tex => katex.renderToString(tex, {output: 'mathml', strict: false});
console.log(JSON.stringify(JSON.parse(given).map(written)));
"""
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$(?!\$)", re.DOTALL)
N_CHILDREN = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3}
SAME = str.maketrans({"∥": "‖", "∣": "|", "ˆ": "^"})


def formulas() -> list[str]:
    """All of our explanations, in both languages."""
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("assets/text/*/*.md")]
    return sorted({a or b for text in texts for a, b in FORMULA.findall(text)})


def of_katex(found: list[str], tmp_path: Path) -> list[str]:
    (tmp_path / "katex.mjs").write_text(KATEX.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "write.mjs").write_text(SCRIPT, encoding="utf-8")
    command = [str(NODE), str(tmp_path / "write.mjs")]
    done = subprocess.run(command, input=json.dumps(found).encode(), stdout=-1, check=True)
    return json.loads(done.stdout)


def signs(element: ElementTree.Element) -> str:
    """What is read, but for what has no width; script letters are letters."""
    return unicodedata.normalize("NFKC", "".join(_texts(element))).translate(SAME)


def fractions(element: ElementTree.Element) -> list[list[str]]:
    """What is divided, and by what."""
    found = (each for each in element.iter() if each.tag.rpartition("}")[2] == "mfrac")
    return [[signs(part) for part in each] for each in found]


def _texts(element: ElementTree.Element) -> Iterator[str]:
    if element.tag.rpartition("}")[2] == "annotation":
        return
    yield re.sub(r"[\s\u2061-\u2064\u200b]", "", element.text or "")
    for child in element:
        yield from _texts(child)


def test_each_formula_has_the_signs_that_katex_draws(tmp_path: Path):
    found = formulas()
    assert len(found) > 300
    for tex, theirs in zip(found, of_katex(found, tmp_path), strict=True):
        ours = ElementTree.fromstring(as_mathml(tex))
        wanted = ElementTree.fromstring(re.sub("</?span[^>]*>", "", theirs).replace("&nbsp;", " "))
        assert signs(ours) == signs(wanted), tex
        assert fractions(ours) == fractions(wanted), tex
        for each in ours.iter():
            assert N_CHILDREN.get(each.tag, len(each)) == len(each), tex


def test_a_command_that_is_not_known_stays_as_it_is_written():
    assert as_mathml(r"\unheard") == '<math display="inline"><mtext>\\unheard</mtext></math>'
