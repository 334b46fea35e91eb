"""Streaming speech recognition: many utterances, each fed piece by piece, decoded in batches.

``engine`` decides what is decoded when, ``sequences`` holds the audio of each utterance, ``moonshine`` runs the model,
``decoding`` turns its predictions into hypotheses, ``tokenizer`` turns hypotheses into text.
"""
