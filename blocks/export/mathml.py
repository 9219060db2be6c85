"""The formulas of our texts as MathML, which every browser draws without a network.

The part of TeX that our explanations and lessons use; a command that is not known stays as it is
written, so that nothing is lost.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s+|\d+(?:\.\d+)?|.", re.DOTALL)
TEXTS = ("text", "textbf", "texttt", "mathrm", "operatorname")
SPACES = {",": 0.17, ";": 0.28, ":": 0.22, "!": -0.17, " ": 0.33, "quad": 1.0, "qquad": 2.0}
FUNCTIONS = ("arg", "cos", "exp", "ln", "log", "max", "min", "sin", "tanh")


def _named(pairs: str) -> dict[str, str]:
    """Signs by their names: "alpha α beta β"."""
    words = pairs.split()
    return dict(zip(words[::2], words[1::2], strict=True))


LETTERS = _named(
    "alpha α beta β gamma γ theta θ eta η lambda λ mu μ pi π sigma σ phi ϕ varphi φ varepsilon ε "
    "epsilon ϵ ell ℓ infty ∞ Delta Δ Sigma Σ Pi Π Phi Φ nabla ∇ partial ∂ top ⊤ dots …"
)
SIGNS = _named(
    "cdot ⋅ le ≤ ge ≥ ne ≠ neq ≠ approx ≈ sim ∼ mid ∣ odot ⊙ times × pm ± in ∈ cap ∩ cup ∪ "
    "supseteq ⊇ to → gets ← mapsto ↦ iff ⟺ lor ∨ prec ≺ propto ∝"
)
FENCES = _named(
    "lVert ‖ rVert ‖ lvert | rvert | lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ | ‖ { { } } ( ( ) ) [ [ ] ]"
)
SUMS = {"sum": "∑", "prod": "∏"}
LARGE = {"big": 1.2, "bigl": 1.2, "bigr": 1.2, "Big": 1.8}
BELOW = ("sum", "prod", "max", "min", "arg", "underbrace")  # what stands under them, set apart
ALPHABETS = {"mathcal": "SCRIPT", "mathbb": "DOUBLE-STRUCK"}


def as_mathml(tex: str, *, is_apart: bool = False) -> str:
    """A formula as an element of HTML; `is_apart`: on a line of its own."""
    display = "block" if is_apart else "inline"
    reader = _Reader(TOKEN.findall(tex), is_apart=is_apart)
    return f'<math display="{display}">{_row(reader.until(()))}</math>'


def _row(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _sign(text: str, **more: object) -> str:
    said = "".join(f' {name}="{value}"' for name, value in more.items())
    return f"<mo{said}>{html.escape(text)}</mo>"


def _space(width: float) -> str:
    return f'<mspace width="{width}em"></mspace>'


class _Reader:
    """The signs of a formula, read from left to right."""

    def __init__(self, tokens: Sequence[str], *, is_apart: bool):
        self.tokens, self.at, self.is_apart = [*tokens], 0, is_apart

    def _next(self) -> str:
        """The next sign, "" at the end."""
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def _sees(self) -> str:
        """The next sign that is no space, which is not yet taken."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def until(self, ends: Sequence[str]) -> list[str]:
        """All elements before one of these signs, which is not taken."""
        found = []
        while (seen := self._sees()) and seen not in ends:
            found.append(self._with_scripts())
        return found

    def _with_scripts(self) -> str:
        """One element, and what stands above and below it."""
        name = self._sees().removeprefix("\\")
        base, low, high = self._element(), "", ""
        while self._sees() in ("_", "^", "'"):
            sign = self._next()
            part = _sign("′") if sign == "'" else self._argument()
            if sign == "_":
                low = part
            else:
                high = f"<mrow>{high}{part}</mrow>" if high else part
        after = _space(SPACES[","]) if name in FUNCTIONS and self._sees() != "(" else ""
        if not (low or high):
            return base + after
        over, sub = ("under", "over"), ("sub", "sup")
        below, above = over if self.is_apart and name in BELOW else sub
        kind = f"m{below if low else ''}{above if high else ''}"
        return f"<{kind}>{base}{low}{high}</{kind}>{after}"

    def _argument(self) -> str:
        """What a command or a script applies to: one element, or all within braces."""
        sign = self._sees()
        if sign[:1].isdigit():  # the first digit alone
            self.tokens[self.at] = sign[1:]
            self.at += not sign[1:]
            return f"<mn>{sign[0]}</mn>"
        if sign != "{":
            return self._element()
        self._next()
        found = _row(self.until(("}",)))
        self._next()
        return found

    def _written(self) -> str:
        """What stands within braces, or the next sign, as text."""
        if self._sees() != "{":
            return self._next()
        self._next()
        found = []
        while (sign := self._next()) and sign != "}":
            found.append(sign.removeprefix("\\"))
        return "".join(found)

    def _element(self) -> str:
        sign = self._sees()
        if sign == "{":
            return self._argument()
        self._next()
        if sign.startswith("\\"):
            return self._command(sign[1:])
        if sign.isdigit() or re.fullmatch(r"\d+\.\d+", sign):
            return f"<mn>{sign}</mn>"
        if sign.isalpha():
            return f"<mi>{html.escape(sign)}</mi>"
        return _sign({"-": "−", "*": "∗"}.get(sign, sign))

    def _command(self, name: str) -> str:
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return _sign(SIGNS[name])
        if name in SUMS:
            return _sign(SUMS[name])
        if name in FENCES:
            return _sign(FENCES[name], stretchy="false")
        if name in SPACES:
            return _space(SPACES[name])
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in TEXTS:
            return self._text(name)
        return self._applied(name)

    def _text(self, name: str) -> str:
        if self._sees() == "*":  # what is below it stands beside it
            self._next()
        style = {"textbf": "font-weight: bold", "texttt": "font-family: monospace"}.get(name)
        written = html.escape(self._written()).replace(" ", "\N{NO-BREAK SPACE}")
        return f'<mtext style="{style}">{written}</mtext>' if style else f"<mtext>{written}</mtext>"

    def _applied(self, name: str) -> str:
        """A command that takes what follows it."""
        if name in ("frac", "dfrac", "tfrac"):
            return f"<mfrac>{self._argument()}{self._argument()}</mfrac>"
        if name == "binom":
            inside = f'<mfrac linethickness="0">{self._argument()}{self._argument()}</mfrac>'
            return _row([_sign("("), inside, _sign(")")])
        if name == "sqrt":
            return f"<msqrt>{self._argument()}</msqrt>"
        if name == "hat":
            return f'<mover accent="true">{self._argument()}{_sign("^", stretchy="false")}</mover>'
        if name == "underbrace":
            return f"<munder>{self._argument()}{_sign('⏟', stretchy='true')}</munder>"
        if name == "underset":
            below, base = self._argument(), self._argument()
            return f"<munder>{base}{below}</munder>"
        if name == "xrightarrow":
            return f"<mover>{_sign('→', stretchy='true')}{self._argument()}</mover>"
        if name == "phantom":
            return f"<mphantom>{self._argument()}</mphantom>"
        if name == "bmod":
            return _row([_space(SPACES[";"]), "<mi>mod</mi>", _space(SPACES[";"])])
        return self._around(name)

    def _around(self, name: str) -> str:
        """A command that opens something, or makes one sign larger."""
        if name in ALPHABETS:
            return f"<mi>{''.join(_letters(self._written(), ALPHABETS[name]))}</mi>"
        if name in LARGE:
            size = f"{LARGE[name]}em"
            return _sign(self._fence(), stretchy="true", minsize=size, maxsize=size)
        if name == "left":
            opening, inside = self._fence(), self.until((r"\right",))
            self._next()
            closing = self._fence()
            first, last = (_sign(each, stretchy="true") for each in (opening, closing))
            return _row([first, *inside, last])
        if name == "begin":
            return self._table(self._written())
        return f"<mtext>{html.escape(name if len(name) == 1 else chr(92) + name)}</mtext>"

    def _fence(self) -> str:
        sign = self._sees()
        self._next()
        sign = sign.removeprefix("\\")
        return "" if sign == "." else FENCES.get(sign, sign)

    def _table(self, kind: str) -> str:
        """The rows of an environment."""
        if kind == "array":
            self._written()  # how its columns are set
        rows, row = [], []
        while True:
            row.append(_row(self.until(("&", r"\\", r"\end"))))
            sign = self._next()
            if sign == r"\\" and self._sees() == "[":  # how far below the next row is
                self.at = self.tokens.index("]", self.at) + 1
            if sign != "&":
                rows.append(row)
                row = []
            if sign in (r"\end", ""):
                break
        self._written()
        cells = "".join(f"<mtr>{''.join(_cells(row, kind))}</mtr>" for row in rows)
        apart = "false" if kind == "pmatrix" else "true"
        table = f'<mtable displaystyle="{apart}">{cells}</mtable>'
        left, right = {"pmatrix": ("(", ")"), "cases": ("{", "")}.get(kind, ("", ""))
        fenced = [_sign(left, stretchy="true"), table, _sign(right, stretchy="true")]
        return _row(fenced) if left else table


def _cells(row: Sequence[str], kind: str) -> Iterator[str]:
    """What is aligned meets at the sign between its columns."""
    for i, cell in enumerate(row):
        side = "center" if kind == "pmatrix" else "left"
        side = "right" if kind == "aligned" and i % 2 == 0 else side
        yield f'<mtd style="text-align: {side}; padding: 0.2em 0.15em">{cell}</mtd>'


def _letters(text: str, alphabet: str) -> Iterator[str]:
    """Capital letters of another alphabet; some are older than the rest and named otherwise."""
    for letter in text:
        for name in (f"MATHEMATICAL {alphabet} CAPITAL {letter}", f"{alphabet} CAPITAL {letter}"):
            try:
                yield unicodedata.lookup(name)
                break
            except KeyError:
                continue
