"""NVIDIA's SpeechSquad (2020): spoken questions on SQuAD's paragraphs, from the last audio chunk to the answer.

Its definition: https://github.com/NVIDIA/speechsquad. It came without recordings, so that :mod:`.voices` makes them;
answers are shown instead of being spoken.
"""
