"""What models of known truth and instruments are called, and what they say."""

from blocks.model.faults import N_

MODELS = {
    "first-token": N_("First token"),
    "previous-token": N_("Token before"),
    "three-back": N_("Three back"),
    "induction": N_("Induction"),
    "duplicate-token": N_("Seen before?"),
    "keyword": N_("Keyword"),
    "feature": N_("Vowel before?"),
    "twice": N_("Two back, twice"),
    "translated": N_("Four back, written late"),
    "reverse": N_("Backwards"),
    "count": N_("How often?"),
    "parity": N_("Odd or even?"),
    "majority": N_("Majority"),
    "brackets": N_("Brackets"),
    "sum-of-two": N_("Sum of two"),
    "sort": N_("In order"),
    "planted-first-token": N_("First token, planted"),
    "planted-induction": N_("Induction, planted"),
    "planted-duplicate-token": N_("Seen before?, planted"),
    "planted-feature": N_("Vowel before?, planted"),
    "learned-induction": N_("Induction, trained"),
    "learned-sort": N_("In order, trained"),
}
ANSWERS = {
    "first-token": N_("the first token of the text"),
    "previous-token": N_("the token before, read by one head"),
    "three-back": N_("the token three places back, whatever it is"),
    "induction": N_("the token that followed this one earlier (two heads in two layers)"),
    "duplicate-token": N_("+ where this token has occurred before, - where it has not"),
    "keyword": N_("c where an a has occurred before, d where none has"),
    "feature": N_(
        "+ where a vowel has occurred before, - where none has: one direction stands for all vowels"
    ),
    "twice": N_("the token two places back, read by two heads, either of which would do"),
    "translated": N_("the token four places back, in directions that only the third layer reads"),
    "reverse": N_("the text backwards (an encoder)"),
    "count": N_("how often this token has occurred so far"),
    "parity": N_("whether the number of ones so far is even (0) or odd (1)"),
    "majority": N_("whether a or b has occurred more often so far (= for a tie)"),
    "brackets": N_("whether the brackets so far are balanced (=), still open (+) or invalid (!)"),
    "sum-of-two": N_("this digit and the one two places back, added modulo 5"),
    "sort": N_("the letters in alphabetical order (an encoder)"),
}

INSTRUMENTS = {
    "head-names": N_("Names of heads"),
    "ablation": N_("Ablation of heads"),
    "patching": N_("Patching of heads"),
    "direct": N_("Direct logit attribution"),
    "gradient": N_("Gradient × value"),
    "attention": N_("Attention, mean of heads"),
    "contributions": N_("Contribution graph"),
    "leave-one-out": N_("Leave one token out"),
    "logit-lens": N_("Logit lens"),
    "leak-test": N_("Leak test"),
    "lots": N_("Random answers"),
    "last": N_("Always the last ones"),
}
QUESTIONS = {
    "names": N_("What is each head called?"),
    "heads": N_("Which heads does the answer depend on?"),
    "tokens": N_("Which tokens does the answer come from?"),
    "layer": N_("After which layer is the answer known?"),
    "leak": N_("Does a token see ahead?"),
}
