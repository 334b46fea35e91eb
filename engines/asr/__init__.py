"""Streaming speech recognition: many utterances, each fed piece by piece, decoded in batches.

``workers`` answer requests with several threads, in the turns that ``queueing`` gives. ``engine`` decides what is
decoded when, and ``thinning`` which texts that may still change are. ``sequences`` holds the audio of each utterance,
``moonshine`` runs the model, ``decoding`` turns its predictions into hypotheses, ``drafting`` guesses these beforehand
with a faster model, ``tokenizer`` turns hypotheses into text.

Where phrases are hinted at or alternatives wanted, ``beams`` searches instead: ``hints`` says what is preferred,
``biasing`` follows it letter by letter, ``boosts`` finds the tokens that go on with it, ``vocabulary`` and ``spelling``
tell what tokens spell, and ``alternatives`` what callers get to see. ``word_times`` tells when words
were said, by ``alignment``.
"""
