"""Where a measure begins to be a fault, and how much evidence is asked for.

They were set on 68 models with planted faults, and tried on others: see docs/diagnose.md. "Sound" are the 24 healthy
ones of these, "faulty" those that were made to have the fault in question; what a limit separates is quoted.
"""

# --- How much there must be to look at --------------------------------------------------------------------------------

FEWEST_SOURCE_WORDS = 3
"""With one or two source words any row is flat or peaked by necessity; such pairs do not count."""

FEWEST_ALIGNMENTS = 20
"""Pairs. Below, a mean says nothing."""

FEW_PAIRS = 50
"""Below, no verdict is more than of low certainty."""

FEWEST_NEEDED = 20
"""Target words of which it is known what they need; below, no shift is looked for."""

# --- Faults -----------------------------------------------------------------------------------------------------------

PADDING_WEIGHT = 1e-9
"""Share of a row. A mask gives exactly 0, and so does a fill that is low enough for single precision. Faulty: 1e-6 and
more, where masked scores were filled with -4."""

BESIDE_OTHERS = 0.01
"""Nats. Sound: at most 1e-5, which is rounding; larger models round more."""

FROZEN_DISTANCE = 0.01
"""Of rows from uniform ones (total variation). Faulty: 1e-8. Some hundredths may be the first thing that is learned; a
model that was drawn and not trained may be as near as 0.004, and is called frozen rightly. The flattest attention that
had another fault: 0.04; sound: 0.48 and more."""

FROZEN_ENTROPY = 0.9999
"""The same in entropy, for the cheap look while training."""

BLIND_EFFECT = 1e-4
"""Nats. Where the query falls out of the softmax there is only rounding, 1e-8. Where one position has taken all so
early that nothing else was learned, the query still moves the scores by 0.004; sound: by 1.5 and more."""

BLIND_DIFFERENCE = 0.02
"""Between rows (total variation): the query moves something, but nothing that counts. Sound: 0.48 and more."""

LAZY_SHARE = 0.8
"""Of all weight on one position. Faulty: 0.97 and more; sound: at most 0.28. A translation model that had trained for
eight minutes had 0.58 (on the end symbol), and was not lazy yet: its loss rose where its weights were made uniform."""

IGNORED_GAIN = 0.05
"""Nats a token. Faulty: at most 0.003; all others: 1.3 and more."""

FLAT_ENTROPY = 0.8
"""Of the most it can be. Faulty: 0.90 and more; sound: at most 0.63, next 0.29."""

NEEDED = 0.5
"""Nats that a target word must lose where the source word that it needs is replaced."""

SHIFTED_FIT = 0.5
"""Share of target words which another reading of the rows must fit. Faulty: 0.997 and more."""

SHIFTED_LEAD = 0.3
"""By how much more often it must fit than the model's own reading. Faulty: 0.81 and more; sound: at most -0.14."""

LATE_ERROR = 0.3
"""Share of the tokens of second halves of long targets that the greedy answers have wrong. Faulty: 0.61 and more;
sound: at most 0.04."""

LATE_EXCESS = 0.25
"""By how much it is larger than in first halves. Faulty: 0.47 and more, but for one that stops early (0.02); sound: at
most 0.04."""

LATE_LOSS_EXCESS = 1.0
"""Nats a token by which the loss under teacher forcing is larger in second halves. An error made early does not count
there; and where an answer stops early, its edits are not all counted as late: its last tokens are found anywhere.
Faulty: 2.1 and more; sound: at most 0.1."""
