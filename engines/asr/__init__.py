"""Streaming speech recognition of many utterances, decoded in batches.

``serving`` answers requests for any recognizer: ``workers`` with several threads, in the turns that ``queueing``
gives; ``engine`` decides what is decoded when, ``partial_scheduling`` which partial texts are, and ``sequences`` holds
the audio of each utterance. ``recognizer`` is the protocol that a model fulfils.

``recognizers`` loads the model that an engine's card names. ``moonshine`` decodes anew for every text: ``decoding``
turns its predictions into hypotheses, ``drafting`` predicts these beforehand with a faster model, ``tokenizer`` turns
hypotheses into text, and ``word_times`` tells when words were said.

``search`` looks for texts where phrases are hinted at or alternatives wanted: ``beams`` searches, ``hints`` says what
is preferred, ``biasing`` follows it letter by letter, ``boosts`` finds the tokens that go on with it, ``vocabulary``
and ``spelling`` tell what tokens spell.
"""
