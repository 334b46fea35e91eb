"""Load sharing between conversations: workload, precedence and pacing."""
