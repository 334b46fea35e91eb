# The service with its own Triton, on CPU. Build: docker build -t vivavoce .   Run: see docs/deployment.md.
# Without Docker `make image-check` carries these steps out, and talks to what comes of them.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
# pyflac comes as source alone, and its binding of libFLAC is compiled.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt pyproject.toml README.md LICENSE THIRD_PARTY_NOTICES.md ./
COPY clients clients
COPY engines engines
COPY pipelines pipelines
COPY service service
COPY model_repository model_repository
RUN python -m venv /opt/vivavoce \
    && /opt/vivavoce/bin/pip install --no-cache-dir uv \
    && /opt/vivavoce/bin/uv pip install --no-cache --no-sources --python /opt/vivavoce/bin/python \
        --constraint constraints.txt ./clients '.[serve,telemetry,redis,postgres,mcp,webrtc]' \
    && /opt/vivavoce/bin/python -m engines.build.moonshine --target model_repository/asr/1/moonshine-tiny-en \
    && /opt/vivavoce/bin/python -m engines.build.smart_turn --target model_repository/end_of_turn/1/smart-turn \
    && /opt/vivavoce/bin/python -m engines.build.sentence_embedding --target model_repository/embed/1/minilm \
    && /opt/vivavoce/bin/python -m engines.build.speaker --target model_repository/speaker/1/resemblyzer

FROM python:3.11-slim-bookworm
COPY --from=build /opt/vivavoce /opt/vivavoce
COPY --from=build /src/model_repository /srv/model_repository
# A volume that is mounted there belongs to the user as well.
RUN useradd --no-create-home --uid 10001 --shell /usr/sbin/nologin vivavoce \
    && install --directory --owner vivavoce --mode 0700 /var/cache/vivavoce
USER 10001
ENV PATH=/opt/vivavoce/bin:$PATH ORT_DISABLE_TELEMETRY=1
# gRPC's own lines, one for each compressed request among them, are the callers' to write.
ENV GRPC_VERBOSITY=NONE
EXPOSE 50051
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-m", "service.grpc_server.probe", "unix:/tmp/vivavoce-10001/admin-50051.sock"]
ENTRYPOINT ["vivavoce", "serve", "--host", "0.0.0.0", "--model-repository", "/srv/model_repository"]
