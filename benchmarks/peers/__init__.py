"""heedful against the toolkits that install from PyPI: same data, sizes and threads, in turn, each by its own classes.

sides.py         what is compared, and the ratios that are asked for
corpora.py       the data, as files that every toolkit reads
environments.py  a virtual environment for each toolkit, pinned by requirements/
conduct.py       child processes, and whose turn it is
child.py         one toolkit in its process: trains and answers on command, and takes the time
table.py         figures as Markdown
heedful.py, yoyodyne.py, joeynmt.py, opennmt.py
                 each toolkit: how it is built, trained and asked; its docstring has the settings
"""
