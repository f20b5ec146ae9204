"""The recipe `image` on strips of handwritten digits: what is read is looked for where it is."""

import numpy as np
import pytest

import heedful
from heedful.alignment import found_inside, places
from heedful.data.digits import strips


@pytest.mark.slow
def test_digits_are_looked_for_where_they_are(tmp_path):
    """Once most of a digit has been read: an encoder that reads in both directions is asked before, or beside it."""
    pytest.importorskip("sklearn")
    settings = {"train.minutes": "none", "train.updates": 500, "train.validate_every": 4, "train.validation_size": 50}
    run = heedful.train("digits", dev="digits:dev", out=tmp_path / "run", recipe="image", set=settings)
    alignments = heedful.align(run, "digits:dev")
    spans = [strip.spans for strip in strips("dev")]
    inside = [found for each in zip(alignments, spans, strict=True) for found in found_inside(*each)]
    assert np.mean(inside) > 0.95
    looked_at = [sum(place) / 2 for alignment in alignments for place in places(alignment)]
    middles = [sum(span) / 2 for own in spans for span in own]
    assert np.mean(np.array(looked_at) >= middles) > 0.9
