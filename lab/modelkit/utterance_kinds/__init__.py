"""Kinds of utterances: sentences that teach and judge them, and the training of the classifier."""
