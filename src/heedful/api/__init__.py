"""The verbs: train, predict, evaluate, score, align, symmetrise, aer, average, look, diagnose, trace, compare.

Each is also a command with the same name. `heedful` hands them out. Each is in a module of its own and imports what it
needs, so that whoever predicts does not wait for what training needs.
"""
