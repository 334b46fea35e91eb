"""How conversations share the machine: workload, precedence and pacing."""
