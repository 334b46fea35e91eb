"""Uses the service as the published examples of NVIDIA's own client do; the last line on stdout is one JSON object."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import riva.client
from google.protobuf.json_format import MessageToDict
from riva.client.argparse_utils import add_asr_config_argparse_parameters, add_connection_argparse_parameters
from riva.client.proto import riva_asr_pb2, riva_nlp_pb2, riva_tts_pb2


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("--input-file")
    parser.add_argument("--text", nargs="*", default=[])
    parser.add_argument("--stereo", action="store_true")
    add_asr_config_argparse_parameters(parser, max_alternatives=True, profanity_filter=True, word_time_offsets=True)
    add_connection_argparse_parameters(parser)
    return parser.parse_args()


def connect(arguments: argparse.Namespace) -> riva.client.Auth:
    return riva.client.Auth(
        uri=arguments.server, metadata_args=[["function-id", "any"], ["authorization", "Bearer any"]]
    )


def recognition_config(arguments: argparse.Namespace) -> riva.client.RecognitionConfig:
    """As the examples make it: neither encoding nor sample rate, which the file's header tells."""
    config = riva.client.RecognitionConfig(
        language_code=arguments.language_code,
        model=arguments.model_name,
        max_alternatives=arguments.max_alternatives,
        profanity_filter=arguments.profanity_filter,
        enable_automatic_punctuation=arguments.automatic_punctuation,
        verbatim_transcripts=not arguments.no_verbatim_transcripts,
        enable_word_time_offsets=arguments.word_time_offsets,
        enable_separate_recognition_per_channel=arguments.stereo,
        audio_channel_count=2 if arguments.stereo else 0,
    )
    riva.client.add_word_boosting_to_config(config, arguments.boosted_lm_words, arguments.boosted_lm_score)
    riva.client.add_speaker_diarization_to_config(
        config, arguments.speaker_diarization, arguments.diarization_max_speakers
    )
    riva.client.add_endpoint_parameters_to_config(
        config,
        arguments.start_history,
        arguments.start_threshold,
        arguments.stop_history,
        arguments.stop_history_eou,
        arguments.stop_threshold,
        arguments.stop_threshold_eou,
    )
    riva.client.add_custom_configuration_to_config(config, arguments.custom_configuration)
    return config


def stream(arguments: argparse.Namespace) -> Any:
    config = riva.client.StreamingRecognitionConfig(config=recognition_config(arguments), interim_results=True)
    asr = riva.client.ASRService(connect(arguments))
    with riva.client.AudioChunkFileIterator(arguments.input_file, 1_600) as chunks:
        responses = asr.streaming_response_generator(audio_chunks=chunks, streaming_config=config)
        return [MessageToDict(result) for response in responses for result in response.results]


def stream_in_real_time(arguments: argparse.Namespace) -> Any:
    """As the examples that set what the file says of itself, and send its header nevertheless."""
    config = riva.client.StreamingRecognitionConfig(config=recognition_config(arguments), interim_results=True)
    config.config.encoding = riva.client.AudioEncoding.LINEAR_PCM
    riva.client.add_audio_file_specs_to_config(config, arguments.input_file)
    asr = riva.client.ASRService(connect(arguments))
    with riva.client.AudioChunkFileIterator(arguments.input_file, 800, riva.client.sleep_audio_length) as chunks:
        responses = asr.streaming_response_generator(audio_chunks=chunks, streaming_config=config)
        return [MessageToDict(result) for response in responses for result in response.results]


def recognize(arguments: argparse.Namespace) -> Any:
    asr = riva.client.ASRService(connect(arguments))
    response = asr.offline_recognize(Path(arguments.input_file).read_bytes(), recognition_config(arguments))
    riva.client.print_offline(response)
    return [MessageToDict(result) for result in response.results]


def list_models(arguments: argparse.Namespace) -> Any:
    asr = riva.client.ASRService(connect(arguments))
    request = riva_asr_pb2.RivaSpeechRecognitionConfigRequest()
    speech = asr.stub.GetRivaSpeechRecognitionConfig(request).model_config
    language = riva.client.NLPService(connect(arguments)).stub.GetRivaNLPConfig(riva_nlp_pb2.RivaNLPConfigRequest())
    return {
        "speech": [
            [config.model_name, config.parameters["type"], config.parameters["language_code"]] for config in speech
        ],
        "language": [config.model_name for config in language.model_config],
    }


def understand(arguments: argparse.Namespace) -> Any:
    nlp = riva.client.NLPService(connect(arguments))
    text = arguments.text[0]
    intent = nlp.analyze_intent(text, riva.client.AnalyzeIntentOptions(lang="en-US", domain="home"))
    classes = nlp.classify_text(arguments.text, "")
    tokens = nlp.classify_tokens(arguments.text, "", language_code="en-US")
    return {
        "intent": [intent.intent.class_name, intent.intent.score],
        "slots": [[slot.token, slot.label[0].class_name] for slot in intent.slots],
        "classes": riva.client.extract_most_probable_text_class_and_confidence(classes)[0],
        "tokens": riva.client.extract_most_probable_token_classification_predictions(tokens)[:2],
        "entities": [token.token for token in nlp.analyze_entities(text).results[0].results],
        "figures": list(nlp.transform_text(arguments.text, "itn").text),
    }


def answer(arguments: argparse.Namespace) -> Any:
    query, context = arguments.text
    (result,) = riva.client.NLPService(connect(arguments)).natural_query(query, context).results
    return {"answer": result.answer, "score": result.score}


def punctuate(arguments: argparse.Namespace) -> Any:
    nlp = riva.client.NLPService(connect(arguments))
    response = nlp.punctuate_text(arguments.text, "riva-punctuation-en-US", language_code="en-US")
    return list(response.text)


def say(arguments: argparse.Namespace) -> Any:
    """As the examples speak: whole and in pieces, with the client's defaults, a dictionary and the listed voice."""
    service = riva.client.SpeechSynthesisService(connect(arguments))
    listed = service.stub.GetRivaSynthesisConfig(riva_tts_pb2.RivaSynthesisConfigRequest()).model_config
    parameters = listed[0].parameters
    voice = f"{parameters['voice_name']}.{parameters['subvoices'].split(',')[0].split(':')[0]}"
    text = arguments.text[0]
    whole = service.synthesize(text, voice, sample_rate_hz=16_000, custom_dictionary={"NVIDIA": "ɛn.vi.di.ə"})
    pieces = list(service.synthesize_online(arguments.text, voice, "en-US", sample_rate_hz=16_000))
    Path(arguments.input_file).write_bytes(whole.audio)
    return {
        "voice": voice,
        "text": whole.meta.text,
        "seconds": len(whole.audio) / 2 / 16_000,
        "pieces": len(pieces),
        "seconds_online": sum(len(piece.audio) for piece in pieces) / 2 / 16_000,
        "default_bytes": len(service.synthesize(text).audio),
    }


ACTIONS: dict[str, Callable[[argparse.Namespace], Any]] = {
    action.__name__: action
    for action in (stream, stream_in_real_time, recognize, list_models, understand, answer, punctuate, say)
}


def main() -> None:
    arguments = parse_arguments()
    try:
        found = {"found": ACTIONS[arguments.action](arguments)}
    except grpc.RpcError as error:
        found = {"code": error.code().name, "details": error.details()}
    sys.stdout.write(f"\n{json.dumps(found)}\n")


main()
