"""Transcribes the microphone as Riva's published client does: its own arguments, microphone stream and printing.

Ends after the first final transcript. Riva's printing goes to stdout; the last line is one JSON object.
"""

import argparse
import io
import json
import sys
from collections.abc import Iterable, Iterator

import riva.client
import riva.client.audio_io
from riva.client.argparse_utils import (
    add_asr_config_argparse_parameters,
    add_connection_argparse_parameters,
    cli_main,
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample-rate-hz", type=int, default=16_000)
    parser.add_argument("--file-streaming-chunk", type=int, default=1_600)
    add_asr_config_argparse_parameters(parser, profanity_filter=True)
    add_connection_argparse_parameters(parser)
    return parser.parse_args()


def streaming_config(arguments: argparse.Namespace) -> riva.client.StreamingRecognitionConfig:
    config = riva.client.StreamingRecognitionConfig(
        config=riva.client.RecognitionConfig(
            encoding=riva.client.AudioEncoding.LINEAR_PCM,
            language_code=arguments.language_code,
            model=arguments.model_name,
            max_alternatives=1,
            profanity_filter=arguments.profanity_filter,
            enable_automatic_punctuation=arguments.automatic_punctuation,
            verbatim_transcripts=not arguments.no_verbatim_transcripts,
            sample_rate_hertz=arguments.sample_rate_hz,
            audio_channel_count=1,
        ),
        interim_results=True,
    )
    riva.client.add_word_boosting_to_config(config, arguments.boosted_lm_words, arguments.boosted_lm_score)
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


def until_final(responses: Iterable, final: list[str]) -> Iterator:
    for response in responses:
        yield response
        final += [result.alternatives[0].transcript for result in response.results if result.is_final]
        if final:
            return


@cli_main
def main() -> None:
    arguments = parse_arguments()
    auth = riva.client.Auth(use_ssl=arguments.use_ssl, uri=arguments.server, metadata_args=arguments.metadata)
    service = riva.client.ASRService(auth)
    printed, final = io.StringIO(), []
    device = riva.client.audio_io.get_default_input_device_info()
    with riva.client.audio_io.MicrophoneStream(arguments.sample_rate_hz, arguments.file_streaming_chunk) as microphone:
        print("listening", flush=True)
        responses = service.streaming_response_generator(microphone, streaming_config(arguments))
        riva.client.print_streaming(until_final(responses, final), output_file=printed, show_intermediate=True)
    print(json.dumps({"final": final, "printed": printed.getvalue(), "device": device["name"]}))


sys.exit(main())
