"""Black-box tests' view of the product: a real daemon on a real engine, its API, its agents and their wire.

Standard library only. Waits have deadlines, nothing sleeps for luck, and what was started or made is removed by whoever
made it: daemons, containers (by label `mao.instance`), directories.
"""
