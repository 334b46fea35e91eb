"""Faults injected at named places while callers record everything, and a model that judges the records.

After the robustness tests of etcd: ``callers`` talk and keep a ``record`` each, ``faults`` break something meanwhile,
and ``judge`` says which promises of the service a record breaks. ``python -m tests.robustness.harness`` runs
many rounds.
"""
