"""The pages under docs/ and the blocks of code in them."""

import re
import textwrap
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page, language):
    """The text of each block of `language` in the page, in order, also of those inside of a list."""
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]
