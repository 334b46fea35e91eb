/** Vivavoce's client for browsers and Node 22 or later: conversations over a WebSocket. */

/** Name of an audio encoding of `vivavoce.v1`. */
export type Encoding = "LINEAR_PCM" | "LINEAR_PCM_FLOAT32" | "MULAW" | "ALAW" | "FLAC" | "OGGOPUS" | "CONTAINER";

export interface Document {
  id?: string;
  text: string;
}

export interface PhraseHints {
  phrases: string[];
  boost?: number;
}

/** When an utterance ends. Times are in seconds. */
export interface Endpointing {
  disabled?: boolean;
  mode?: "MODEL" | "SILENCE";
  patience?: "EAGER" | "NORMAL" | "PATIENT";
  shortestSilence?: number;
  longestSilence?: number;
  startWindow?: number;
  startThreshold?: number;
  stopWindow?: number;
  stopThreshold?: number;
}

/** How a conversation is held; `ConversationConfig` of docs/grpc.md has the meaning of each field. */
export interface ConversationConfig {
  /** Format of the audio; left out: 16-bit integers at 16 kHz on one channel. */
  audio?: { encoding: Encoding; sampleRateHz?: number; channelCount?: number };
  /** Language to recognize, such as `de-DE`, or `auto`; left out: the recognizer's own choice. */
  languageCode?: string;
  interimResults?: boolean;
  endpointing?: Endpointing;
  documents?: Document[];
  phraseHints?: PhraseHints[];
  /** Seconds from the end of an utterance within which its reply is sent; what is not ready then follows. */
  replyBudget?: number;
  maxAlternatives?: number;
  variants?: Record<string, string>;
  /** Variant of the recognizer that reads each utterance again; "": none; left out: that of the service. */
  secondOpinion?: string;
  /** Replies are spoken, in this format; left out: they are not. */
  replyAudio?: { encoding?: Encoding; sampleRateHz?: number; voice?: string; speed?: number };
  interruption?: {
    disabled?: boolean;
    shortestSpeech?: number;
    ignoreBackchannels?: boolean;
    backchannels?: string[];
  };
  maxIntents?: number;
  timeZone?: string;
  /** Date and time there, such as 2026-11-27T07:30:00Z; left out: the service's. */
  currentTime?: string;
  ignoreEngineHints?: boolean;
  /** Name of the agent that holds the dialog, where the server has some. */
  agent?: string;
  /** Speakers are told apart, where the server does that; left out: they are not. */
  diarization?: { maxSpeakers?: number };
  /** The session that the dialog belongs to; left out, it ends with the stream. */
  session?: { id?: string; parameters?: Record<string, string> };
  /** Names of knowledge bases that answers are looked for in. */
  knowledge?: string[];
  /** Whether an agent's own words come as `prompt`; otherwise they come as `reply`. */
  prompts?: boolean;
}

export interface ConversationUpdate {
  endpointing?: Endpointing;
  documents?: { documents: Document[] };
  phraseHints?: { groups: PhraseHints[] };
  /** Session parameters that change; the others stay. */
  session?: { parameters: Record<string, string> };
  /** Knowledge bases that answers are looked for in, in place of all earlier ones. */
  knowledge?: { knowledge: string[] };
  /** Engines by role, in place of all earlier choices, from the next turn on. */
  variants?: { variants: Record<string, string> };
  /** Variant of the recognizer that reads each utterance again, from the next turn on; "": none. */
  secondOpinion?: string;
}

/** What a turn did to the dialog that an agent holds. */
export interface Dialog {
  intent?: string;
  slots?: Record<string, string>;
  asked?: string;
  confirming?: boolean;
  fulfilments?: { number: number; name: string; intent: string; slots?: Record<string, string> }[];
  end?: "DONE" | "HAND_OVER";
  parameters?: Record<string, string>;
  cause: "TURN" | "BEGIN" | "NO_INPUT" | "KEYS" | "FULFILMENT" | "LATE";
}

export interface Value {
  kind: string;
  value: string;
  unit?: string;
  /** The other value that it may have, such as seven in the evening. */
  alternative?: string;
  text: string;
  start?: number;
  end?: number;
}

/** Who speaks: a number in order of appearance, and the enrolled voice that it sounds like, which proves nothing. */
export interface Speaker {
  tag: number;
  name?: string;
}

export interface Intent {
  name: string;
  confidence?: number;
  kind?: string;
  negated?: boolean;
  /** The most likely intents, as many as `maxIntents` asks for. */
  candidates?: { name: string; confidence?: number }[];
}

export interface Slot {
  name: string;
  value: string;
  text: string;
  start?: number;
  end?: number;
  resolved?: Value;
}

/** What was understood, and the answer. Times are in seconds. */
export interface Reply {
  turn: number;
  transcript: string;
  intent: Intent | null;
  slots: Slot[];
  /** What each part of the utterance asks for, in the order of the text; places are in code points. */
  readings?: { intent: Intent; slots?: Slot[]; start?: number; end?: number }[];
  answer: { text: string; score: number; start?: number; end?: number; documentId?: string } | null;
  values: Value[];
  /** PARTIAL: something is missing; the whole follows in another `reply` of the turn, which `completes` this one. */
  status: "COMPLETE" | "PARTIAL" | "DEGRADED";
  speechText: string;
  /** Only where an agent holds the dialog. */
  dialog?: Dialog;
  /** What the server's own stages found, by the name of the stage; only where it has such stages. */
  results?: Record<string, Record<string, unknown>>;
  /** Who speaks most of the utterance; only with `diarization`. */
  speaker?: Speaker;
  requestId: string;
  /** Whether it is the whole reply, in place of the PARTIAL one of its turn that came before. */
  completes: boolean;
  /** Stages that did not finish inside the budget: those of the service, and all by name. */
  overran?: string[];
  overranStages?: string[];
  /** Version of each engine that served the turn. */
  modelVersions?: Record<string, number>;
  speculated?: boolean;
  latency?: { total: number; stages?: { name: string; queue?: number; compute?: number }[] };
  /** Milliseconds from the last sound to this reply, by the client's clock; missing for typed turns. */
  turnMs?: number;
}

/** What came of a tool; without anything it is done, and the agent says its own words. */
export interface ToolResult {
  /** Slots of the intent that get another value. */
  slots?: Record<string, string>;
  /** What the agent says in place of its own words. */
  say?: string;
  /** Whether it could not be done. */
  failed?: boolean;
  /** Session parameters that change. */
  parameters?: Record<string, string>;
}

/** What the service says. Places are in seconds from the start of the conversation's audio. */
export type ConversationEvent =
  | { type: "started"; conversationId: string; greeting?: string }
  | { type: "reconnected"; conversationId: string; lostSeconds: number; replayedSeconds: number }
  | { type: "speechBegan"; turn: number; start: number }
  | {
      type: "transcript";
      turn: number;
      text: string;
      isFinal: boolean;
      start: number;
      end: number;
      /** Code of the language that was spoken, such as `de`; "" where the recognizer does not tell. */
      languageCode: string;
      /** What else may have been said, as many as `maxAlternatives` asks for. */
      alternatives?: { text: string; confidence?: number }[];
      confidence?: number;
      requestId?: string;
      /** Who speaks when; only with `diarization`. */
      speakers?: { speaker: Speaker; start: number; end: number }[];
    }
  | { type: "speechPaused"; turn: number; text: string; probability: number; start: number; end: number; silence: number }
  | { type: "speechResumed"; turn: number; start: number }
  | { type: "speechEnded"; turn: number; end: number; reason: string; silence: number | null; requestId: string }
  | ({ type: "reply" } & Reply)
  | ({ type: "prompt" } & Reply)
  | { type: "replyAudio"; turn: number; start: number; last: boolean; audio: Uint8Array; sinceLastSoundMs?: number }
  | { type: "replyHeld"; turn: number; position: number }
  | { type: "replyResumed"; turn: number; position: number }
  | { type: "interrupted"; turn: number; heard: number; heardText: string; reason: string }
  | {
      type: "toolCall";
      /** Names the call among all calls; a key against running it twice. */
      id: string;
      name: string;
      intent: string;
      /** The slots of the intent. */
      arguments: Record<string, string>;
      /** Seconds within which the result must come. */
      deadline: number;
      parameters: Record<string, string>;
    }
  | { type: "notice"; code: string; message: string; turn: number; requestId: string }
  | { type: "goingAway"; reason: string; grace?: number };

/** Why something did not work: `reason` for programs (docs/errors.md), `message` for people. */
export class VivavoceError extends Error {
  readonly reason: string;
  /** HTTP status of the problem; 0 where the server could not be reached. */
  readonly status: number;
  /** Path of the field that is wrong; null where none is. */
  readonly field: string | null;
  /** After how long it is worth trying again; null where unknown. */
  readonly retrySeconds: number | null;
  /** Whether the same may work a little later, or at another server. */
  get retryable(): boolean;
}

/** One conversation. Iterate over it for its events; it is left when the loop is. */
export class Conversation implements AsyncIterable<ConversationEvent> {
  /** Sends audio in the format of the config; samples as Float32Array, from -1 to 1, become 16-bit integers. */
  sendAudio(audio: Float32Array | Int16Array | Uint8Array | ArrayBuffer): void;
  /** Sends a typed turn; returns the name that its reply carries as `requestId`. */
  sendText(text: string): string;
  /** Ends the utterance at once; returns the name that its reply carries. */
  endUtterance(): string;
  /** Holds the conversation differently from now on. */
  update(update: ConversationUpdate): void;
  /** Tells how far a spoken reply was played. */
  playback(turn: number, seconds: number, finished?: boolean): void;
  /** Stops the speech of a reply; of the one that is spoken now where no turn is named. */
  cancelReply(turn?: number): void;
  /** Tells an agent that the caller has pressed keys of a telephone: 0 to 9, *, # and A to D. */
  pressKeys(keys: string): void;
  /** Sends what came of a tool that the agent has asked for: of a `toolCall` event, by its id. */
  sendToolResult(id: string, result?: ToolResult): void;
  /** Says that nothing more will be sent: the conversation ends when everything was answered. */
  finish(): void;
  /** Leaves at once. */
  close(): void;
  /** Resolves when what was sent has left for the most part; wait for it between pieces of a recording. */
  ready(): Promise<void>;
  [Symbol.asyncIterator](): AsyncIterator<ConversationEvent>;
}

export class Client {
  constructor(url: string | URL, options?: { token?: string | null });
  /** Answers one typed turn. Throws {@link VivavoceError}. */
  ask(text: string, config?: Pick<ConversationConfig, "languageCode" | "documents" | "knowledge" | "replyBudget" | "variants" | "maxIntents" | "timeZone" | "agent" | "session">): Promise<Reply & { followed: Reply[] }>;
  /**
   * Begins a conversation.
   *
   * `reconnectSeconds`: how long a lost connection is tried to be made anew; what was not answered is then said again.
   */
  converse(config?: ConversationConfig, options?: { reconnectSeconds?: number }): Conversation;
}

/** Returns a client of the service at an address such as `http://localhost:8080`. */
export function connect(url: string | URL, options?: { token?: string | null }): Client;
