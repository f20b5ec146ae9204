"""Planted faults: small models of known health, and how well `heedful.diagnose` tells them apart.

tasks.py    generated pairs with known alignments
parts.py    the faults that need a part of their own: registered like any user's part
recipes.py  which models there are: each fault's mechanism as settings
make.py     trains them
judge.py    diagnoses them and counts
"""
