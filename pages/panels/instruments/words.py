"""What models of known truth and instruments are called, and what they say."""

from blocks.model.faults import N_

MODELS = {
    "first-token": N_("First token"),
    "previous-token": N_("Token before"),
    "three-back": N_("Three back"),
    "induction": N_("Induction"),
    "duplicate-token": N_("Seen before?"),
    "keyword": N_("Keyword"),
    "twice": N_("Token before, twice"),
    "translated": N_("Token before, translated late"),
    "reverse": N_("Backwards"),
    "count": N_("How often?"),
    "parity": N_("Odd or even?"),
    "majority": N_("Majority"),
    "brackets": N_("Brackets"),
    "sum-of-two": N_("Sum of two"),
    "sort": N_("In order"),
}
ANSWERS = {
    "first-token": N_("the first token of the text"),
    "previous-token": N_("the token before, read by one head"),
    "three-back": N_("the token three places before, whatever stands there"),
    "induction": N_("what followed this token earlier: two heads in two layers"),
    "duplicate-token": N_("+ where this token stood before, - where it did not"),
    "keyword": N_("c where an a stood before, d where none did"),
    "twice": N_("the token before, read by two heads either of which would do"),
    "translated": N_("the token before, in directions that only the third layer reads"),
    "reverse": N_("the text backwards (an encoder)"),
    "count": N_("how often this token has stood there so far"),
    "parity": N_("whether the number of ones so far is even (0) or odd (1)"),
    "majority": N_("whether a or b stood there more often so far (= for a tie)"),
    "brackets": N_("whether brackets are balanced (=), open (+) or broken (!)"),
    "sum-of-two": N_("this digit and the one before, added modulo 5"),
    "sort": N_("the letters in order (an encoder)"),
}
