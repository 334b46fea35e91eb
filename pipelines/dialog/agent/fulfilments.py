"""Schema of ``fulfilments`` in ``agent.yaml``."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

MAX_INSTRUCTIONS = 8_000
MAX_SENTENCES = 20
MAX_ENTRIES = 100
MAX_RETRIES = 5
MAX_TURNS = 20
MAX_ROUNDS = 8
MAX_LED_INTENTS = 120
"""OpenAI's API takes 128 tools."""
SEARCH_TOOL = "search_documents"
"""Tool of a language model that leads an agent, beside its intents."""

KINDS = ("webhook", "tool", "language_model", "home_assistant", "mcp", "reply")
"""Keys of a fulfilment, of which it has one."""

_ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_OWN_HEADERS = re.compile(
    "accept|accept-encoding|connection|content-length|content-type|host|idempotency-key|transfer-encoding"
    "|webhook-id|webhook-signature|webhook-timestamp",
    re.IGNORECASE,
)
_SERVICE = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+")
_ATTRIBUTE = re.compile(r"[A-Za-z0-9_]{1,64}")


def _variable(name: str) -> str:
    if not _ENVIRONMENT.fullmatch(name):
        message = "write the name of an environment variable in capitals: the value itself stays out of this file"
        raise PydanticCustomError("environment_name", message)
    return name


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name) or _OWN_HEADERS.fullmatch(name):
        raise PydanticCustomError("header_name", "no header of this name can be added: write one such as X-Api-Key")
    return name


def _service(name: str) -> str:
    if not _SERVICE.fullmatch(name):
        raise PydanticCustomError("service_name", "write domain and service, such as light.turn_on")
    return name


def _attribute(name: str) -> str:
    if not _ATTRIBUTE.fullmatch(name):
        raise PydanticCustomError("attribute_name", "write the name of an attribute, such as current_temperature")
    return name


def _datum(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("datum", "write a text, a number, true or false")
    return value


Variable = Annotated[str, AfterValidator(_variable)]
Header = Annotated[str, AfterValidator(_header)]
Service = Annotated[str, AfterValidator(_service)]
Attribute = Annotated[str, AfterValidator(_attribute)]
Url = Annotated[str, Field(min_length=1, max_length=2_000)]
Seconds = Annotated[float, Field(gt=0, le=120)]
Retries = Annotated[int, Field(ge=0, le=MAX_RETRIES)]
Datum = Annotated[Any, AfterValidator(_datum)]
"""A text with placeholders, or a number or truth value that is sent as it stands."""


class _Form(BaseModel):
    """Refuses unknown keys; never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Endpoint(_Form):
    """An HTTP server.

    Attributes:
        url: where it is; None: ``url_env`` tells.
        url_env: environment variable that holds the URL; None: ``url`` tells.
        allow_http: whether the URL may be ``http`` beyond this machine, where others can read along.
    """

    url: Url | None = None
    url_env: Variable | None = None
    allow_http: bool = False


class Webhook(Endpoint):
    """A request to an HTTP server of the agent's owner.

    Attributes:
        secret_env: environment variable with the secret that requests are signed with; None: they are not signed.
        headers_env: further headers, and the environment variables that hold their values.
        deadline_seconds: time for all attempts together.
        retries: attempts after the first, where the server cannot be reached or is not able to answer.
        safe: whether it changes nothing, so that it may run before the caller's turn is surely over.
    """

    secret_env: Variable | None = None
    headers_env: dict[Header, Variable] = Field(default_factory=dict, max_length=MAX_ENTRIES)
    deadline_seconds: Seconds = 10.0
    retries: Retries = 2
    safe: bool = False


class Tool(_Form):
    """A tool that the caller's program runs.

    Attributes:
        deadline_seconds: time within which its result must come.
    """

    deadline_seconds: Seconds = 30.0


class LanguageModel(Endpoint):
    """Language model at OpenAI's ``/chat/completions``, streamed by sentence.

    Attributes:
        model: its name at the server.
        key_env: environment variable with the API key; None: none is sent.
        instructions: what it is told to be and do.
        deadline_seconds: time for the whole of its answer.
        max_sentences: that are said of it.
        turns: last turns of the dialog that it is shown.
        temperature: of sampling; None: the server's.
    """

    model: str = Field(min_length=1, max_length=200)
    key_env: Variable | None = None
    instructions: str = Field(
        default="Answer in one or two short spoken sentences.", min_length=1, max_length=MAX_INSTRUCTIONS
    )
    deadline_seconds: Seconds = 20.0
    max_sentences: int = Field(default=4, ge=1, le=MAX_SENTENCES)
    turns: int = Field(default=6, ge=0, le=MAX_TURNS)
    temperature: float | None = Field(default=None, ge=0, le=2)


class LeadingModel(LanguageModel):
    """Language model that leads an agent, with its intents as tools.

    Attributes:
        instructions: what it is told to be and do.
        deadline_seconds: time for all that it is asked in one turn; a reply follows at most ten seconds late.
        max_sentences: that are said of its words in one turn.
        rounds: requests in one turn: the first, and one after each call of a tool that it gets an answer to.
        max_tokens: of one answer; None: as many as the server gives.
    """

    instructions: str = Field(
        default="You are the friendly voice of a service.", min_length=1, max_length=MAX_INSTRUCTIONS
    )
    deadline_seconds: Seconds = 8.0
    max_sentences: int = Field(default=3, ge=1, le=MAX_SENTENCES)
    rounds: int = Field(default=3, ge=1, le=MAX_ROUNDS)
    max_tokens: int | None = Field(default=400, ge=16, le=4_000)


class HomeAssistant(Endpoint):
    """A service of Home Assistant that is called, or a state that is read.

    Attributes:
        url_env: environment variable with the address of Home Assistant, where ``url`` is left out.
        token_env: environment variable with a long-lived access token.
        service: domain and service that are called, such as ``light.turn_on``; None: a state is read.
        entity: id of the entity, such as ``light.{room}``; values are written as ids are: ``light.living_room``.
        entities: ids in place of those that ``entity`` gives.
        data: what else the service is told; what comes out empty is left out.
        attribute: of the entity that is read; None: its state.
        into: slot that takes what was read, for the response.
        deadline_seconds: time for all attempts together.
        retries: attempts after the first; a service is called again only where the first call cannot have arrived.
    """

    url_env: Variable = "HOME_ASSISTANT_URL"
    token_env: Variable = "HOME_ASSISTANT_TOKEN"  # noqa: S105 - the name of a variable
    service: Service | None = None
    entity: str | None = Field(default=None, min_length=1, max_length=200)
    entities: dict[str, str] = Field(default_factory=dict, max_length=1_000)
    data: dict[str, Datum] = Field(default_factory=dict, max_length=MAX_ENTRIES)
    attribute: Attribute | None = None
    into: str | None = Field(default=None, min_length=1, max_length=64)
    deadline_seconds: Seconds = 5.0
    retries: Retries = 2


class McpTool(Endpoint):
    """A tool of an MCP server, over HTTP or a program's standard streams.

    Attributes:
        command_env: environment variable with the command line of the server's program; None: it is reached by its URL.
        headers_env: further headers over HTTP, and the environment variables that hold their values.
        variables: environment variables that the program gets, beside HOME, PATH and the like.
        tool: its name at the server.
        arguments: what it is given, as texts with placeholders; what comes out empty is left out. Empty: all slots.
        into: slot that takes the text of the result; None: only the slots that a structured result names change.
        deadline_seconds: time for the connection and the whole of the answer.
        safe: whether it changes nothing, so that it may run before the caller's turn is surely over.
    """

    command_env: Variable | None = None
    headers_env: dict[Header, Variable] = Field(default_factory=dict, max_length=MAX_ENTRIES)
    variables: tuple[Variable, ...] = Field(default=(), max_length=MAX_ENTRIES)
    tool: str = Field(min_length=1, max_length=128)
    arguments: dict[str, Datum] = Field(default_factory=dict, max_length=MAX_ENTRIES)
    into: str | None = Field(default=None, min_length=1, max_length=64)
    deadline_seconds: Seconds = 10.0
    safe: bool = False


class Told(_Form):
    """Fulfilment by the caller's program; it counts as done at once.

    Beside one with ``url_env`` it holds where that variable is not set.
    """


class Fulfilment(_Form):
    """Fulfilment: one kind, and perhaps ``reply`` beside it.

    Attributes:
        webhook: see :class:`Webhook`.
        tool: see :class:`Tool`.
        language_model: see :class:`LanguageModel`.
        home_assistant: see :class:`HomeAssistant`.
        mcp: see :class:`McpTool`.
        reply: see :class:`Told`.
    """

    webhook: Webhook | None = None
    tool: Tool | None = None
    language_model: LanguageModel | None = None
    home_assistant: HomeAssistant | None = None
    mcp: McpTool | None = None
    reply: Told | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that are given, without a ``reply`` beside another; ideally one."""
        kinds = tuple(kind for kind in KINDS if getattr(self, kind) is not None)
        return kinds[:-1] if len(kinds) > 1 and self.reply is not None else kinds

    @property
    def variable(self) -> str | None:
        """Environment variable that names its server; None where the file does."""
        command = self.mcp.command_env if self.mcp is not None else None
        return command or (self.endpoint.url_env if self.endpoint is not None else None)

    @property
    def endpoint(self) -> Endpoint | None:
        """The HTTP server that it talks to; None: it talks to none."""
        return self.webhook or self.language_model or self.home_assistant or self.mcp
