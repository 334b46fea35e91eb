/**
 * Vivavoce's client for browsers and Node 22 or later: conversations over a WebSocket. No dependencies.
 *
 *     const client = connect("http://localhost:8080");
 *     const conversation = client.converse({ documents: [{ text: "The museum opens at nine." }] });
 *     conversation.sendText("When does the museum open?");
 *     conversation.finish();
 *     for await (const event of conversation) console.log(event.type, event);
 *
 * Types and descriptions are in vivavoce.d.ts.
 */

import { LookBack } from "./look_back.js";

const SUBPROTOCOL = "vivavoce.v1";
const TOKEN_PREFIX = "vivavoce-token.";
const SAMPLE_RATE_HZ = 16_000;
const HALF_CLOSE = '{"halfClose":{}}';
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 3_000;
/** So much may wait in the socket before `ready` makes the sender wait: two seconds of audio. */
const MOST_WAITING_BYTES = 4 * SAMPLE_RATE_HZ;
const NORMAL_CLOSURE = 1000;
export class VivavoceError extends Error {
  constructor(message, reason, { status = 0, field = null, retrySeconds = null } = {}) {
    super(message);
    this.name = "VivavoceError";
    this.reason = reason;
    this.status = status;
    this.field = field;
    this.retrySeconds = retrySeconds;
  }

  /** Whether the same may work a little later, or at another server. */
  get retryable() {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

export function connect(url, options = {}) {
  return new Client(url, options);
}

export class Client {
  #url;
  #token;

  constructor(url, { token = null } = {}) {
    this.#url = new URL(url);
    this.#token = token;
  }

  async ask(text, config = {}) {
    const headers = { "content-type": "application/json" };
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    let response;
    try {
      response = await fetch(new URL("/v1/ask", this.#url), {
        method: "POST",
        headers,
        body: JSON.stringify({ text, ...toWire(config) }),
      });
    } catch (error) {
      throw new VivavoceError(`The server cannot be reached: ${error.message}`, "UNREACHABLE");
    }
    const body = await response.json().catch(() => ({}));
    if (!response.ok) throw problem(body);
    const followed = (body.followed ?? []).map((reply) => ({ ...DEFAULTS.reply, ...fromWire(reply) }));
    return { ...DEFAULTS.reply, ...fromWire(body.reply), followed };
  }

  converse(config = {}, { reconnectSeconds = 0 } = {}) {
    return new Conversation(this.#open.bind(this), config, reconnectSeconds);
  }

  #open() {
    const url = new URL("/v1/converse", this.#url);
    url.protocol = url.protocol === "https:" || url.protocol === "wss:" ? "wss:" : "ws:";
    const protocols = this.#token ? [SUBPROTOCOL, TOKEN_PREFIX + this.#token] : [SUBPROTOCOL];
    const socket = new WebSocket(url, protocols);
    socket.binaryType = "arraybuffer";
    return socket;
  }
}

export class Conversation {
  #openSocket;
  #config;
  #lookBack;
  #reconnectMs;
  #socket = null;
  #isStarted = false;
  #isFinished = false;
  #isClosed = false;
  #unsent = [];
  #events = [];
  #waiting = null;
  #awaitsAudio = null;
  #outage = null;
  #sentAt = [];
  #names = 0;
  #lastSound = new Map();

  constructor(openSocket, config, reconnectSeconds) {
    this.#openSocket = openSocket;
    this.#config = { audio: { encoding: "LINEAR_PCM", sampleRateHz: SAMPLE_RATE_HZ, channelCount: 1 }, ...config };
    this.#reconnectMs = 1000 * reconnectSeconds;
    this.#lookBack = new LookBack(this.#config.audio);
    this.#connect();
  }

  /** Sends audio in the format of the config; samples as Float32Array, from -1 to 1, become 16-bit integers. */
  sendAudio(audio) {
    const bytes = toBytes(audio);
    if (bytes.byteLength === 0) return;
    this.#checkOpen();
    this.#lookBack.audio(bytes);
    this.#sentAt.push([this.#lookBack.end, now()]);
    if (this.#sentAt.length > 4_000) this.#sentAt.splice(0, 2_000);
    this.#send(bytes);
  }

  /** Sends a typed turn; returns the name that its reply carries as `requestId`. */
  sendText(text) {
    return this.#named({ text });
  }

  /** Ends the utterance at once; returns the name that its reply carries. */
  endUtterance() {
    return this.#named({ endOfUtterance: {} });
  }

  /** Holds the conversation differently from now on. */
  update(update) {
    this.#checkOpen();
    const wire = toWire(update);
    this.#lookBack.update(wire);
    this.#send(JSON.stringify({ update: wire }));
  }

  /** Tells how far a spoken reply was played. */
  playback(turn, seconds, finished = false) {
    this.#control("playback", { turn, position: duration(seconds), finished });
  }

  /** Stops the speech of a reply; of the one that is spoken now where no turn is named. */
  cancelReply(turn = 0) {
    this.#control("cancelReply", { turn });
  }

  /** Tells an agent that the caller has pressed keys of a telephone: 0 to 9, *, # and A to D. */
  pressKeys(keys) {
    this.#checkOpen();
    this.#send(JSON.stringify({ dtmf: { keys } }));
  }

  /** Sends what came of a tool that the agent has asked for: of a `toolCall` event, by its id. */
  sendToolResult(id, { slots = {}, say = "", failed = false, parameters = {} } = {}) {
    this.#checkOpen();
    this.#send(JSON.stringify({ toolResult: { id, slots, say, failed, parameters } }));
  }

  /** Says that nothing more will be sent: the conversation ends when everything was answered. */
  finish() {
    if (this.#isFinished || this.#isClosed) return;
    this.#isFinished = true;
    this.#send(HALF_CLOSE);
  }

  /** Leaves at once. */
  close() {
    if (this.#isClosed) return;
    this.#end();
    this.#socket?.close(NORMAL_CLOSURE);
  }

  /** Resolves when what was sent has left for the most part; wait for it between pieces of a recording. */
  async ready() {
    while (!this.#isClosed && (!this.#isStarted || this.#socket.bufferedAmount > MOST_WAITING_BYTES)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async *[Symbol.asyncIterator]() {
    try {
      while (true) {
        while (this.#events.length) {
          const event = this.#events.shift();
          if (event instanceof Error) throw event;
          yield event;
        }
        if (this.#isClosed) return;
        await new Promise((resolve) => (this.#waiting = resolve));
      }
    } finally {
      this.close();
    }
  }

  #connect() {
    this.#isStarted = false;
    this.#awaitsAudio = null;
    const socket = (this.#socket = this.#openSocket());
    let failure = null;
    socket.onopen = () => socket.send(JSON.stringify({ config: toWire({ ...this.#config, prompts: true }) }));
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket || this.#isClosed) return;
      if (typeof data !== "string") this.#heardAudio(new Uint8Array(data));
      else {
        const message = JSON.parse(data);
        if (message.error) failure = problem(message.error);
        else this.#heard(message);
      }
    };
    socket.onclose = ({ code }) => {
      if (socket === this.#socket && !this.#isClosed) this.#lost(code, failure);
    };
  }

  #heard(message) {
    const [[type, body]] = Object.entries(message);
    if (type === "replyAudio") {
      this.#awaitsAudio = body;
      return;
    }
    if (type === "started") {
      this.#begin(body);
      return;
    }
    if (type === "replyCompleted") this.#tell({ type: "reply", ...DEFAULTS.reply, ...fromWire(body), completes: true });
    else if (type === "prompt") this.#tell({ type, ...DEFAULTS.reply, ...fromWire(body.reply) });
    else this.#tell({ type, ...DEFAULTS[type], ...fromWire(body) });
  }

  #heardAudio(audio) {
    const body = this.#awaitsAudio;
    this.#awaitsAudio = null;
    if (body !== null) this.#tell({ type: "replyAudio", ...DEFAULTS.replyAudio, ...fromWire(body), audio });
  }

  #begin(body) {
    this.#isStarted = true;
    if (this.#outage === null) {
      this.#tell({ type: "started", ...body });
    } else {
      this.#outage = null;
      const { lostSeconds, replayedSeconds, droppedBytes, requests } = this.#lookBack.beginAnew();
      this.#sentAt = this.#sentAt.map(([end, moment]) => [end - droppedBytes, moment]);
      this.#unsent = requests.map((request) => (ArrayBuffer.isView(request) ? request : JSON.stringify(request)));
      if (this.#isFinished) this.#unsent.push(HALF_CLOSE);
      this.#push({ type: "reconnected", lostSeconds, replayedSeconds, ...body });
    }
    for (const data of this.#unsent.splice(0)) this.#socket.send(data);
  }

  #tell(event) {
    const arrived = now();
    this.#lookBack.heard(event);
    const placed = this.#lookBack.placed(event);
    // Programs that know no prompts have them as replies.
    if (event.type === "prompt" && !this.#config.prompts) placed.type = "reply";
    if (placed.type === "speechEnded") this.#lastSound.set(placed.turn, this.#soundSentAt(event));
    if (placed.type === "reply" && this.#lastSound.has(placed.turn)) {
      placed.turnMs = Math.max(0, arrived - this.#lastSound.get(placed.turn));
    }
    if (placed.type === "replyAudio" && this.#lastSound.has(placed.turn)) {
      placed.sinceLastSoundMs = Math.max(0, arrived - this.#lastSound.get(placed.turn));
      if (placed.last) this.#lastSound.delete(placed.turn);
    }
    this.#push(placed);
  }

  /** When the audio was sent in which the speech ends. */
  #soundSentAt(ended) {
    const position = this.#lookBack.position(ended.end ?? 0);
    const found = this.#sentAt.find(([end]) => end >= position);
    return found ? found[1] : now();
  }

  #lost(code, failure) {
    if (code === NORMAL_CLOSURE) {
      this.#end();
      return;
    }
    const error = failure ?? new VivavoceError("The connection was lost; try again.", "CONNECTION_LOST");
    this.#outage ??= { began: now(), pauseMs: FIRST_PAUSE_MS };
    const pauseMs = Math.max(this.#outage.pauseMs, 1000 * (error.retrySeconds ?? 0));
    if (!error.retryable || now() + pauseMs > this.#outage.began + this.#reconnectMs) {
      this.#events.push(error);
      this.#end();
      return;
    }
    this.#isStarted = false;
    this.#outage.pauseMs = Math.min(2 * this.#outage.pauseMs, LONGEST_PAUSE_MS);
    setTimeout(() => this.#isClosed || this.#connect(), pauseMs * (0.5 + Math.random() / 2));
  }

  #named(request) {
    this.#checkOpen();
    const named = { ...request, requestId: `js-${++this.#names}` };
    this.#lookBack.mark(named);
    this.#send(JSON.stringify(named));
    return named.requestId;
  }

  #control(kind, control) {
    if (this.#isClosed || this.#outage !== null) return;
    const turn = this.#lookBack.presentTurn(control.turn);
    if (turn !== null) this.#send(JSON.stringify({ [kind]: { ...control, turn } }));
  }

  /** What is sent before the config was accepted waits; what is sent in an outage is kept by the look back. */
  #send(data) {
    if (this.#isStarted && this.#socket.readyState === WebSocket.OPEN) this.#socket.send(data);
    else if (this.#outage === null) this.#unsent.push(data);
  }

  #checkOpen() {
    if (this.#isClosed) throw new VivavoceError("The conversation has ended; begin another one.", "ENDED");
    if (this.#isFinished) throw new VivavoceError("Nothing more can be sent after finish().", "FINISHED");
  }

  #push(event) {
    this.#events.push(event);
    this.#waiting?.();
  }

  #end() {
    this.#isClosed = true;
    this.#unsent = [];
    this.#waiting?.();
  }
}

function now() {
  return performance.now();
}

function duration(seconds) {
  return `${seconds.toFixed(6)}s`;
}

function toBytes(audio) {
  if (audio instanceof Float32Array) {
    const samples = new Int16Array(audio.length);
    for (let at = 0; at < audio.length; at++) {
      samples[at] = Math.max(-32_768, Math.min(32_767, Math.round(audio[at] * 32_767)));
    }
    return new Uint8Array(samples.buffer);
  }
  if (ArrayBuffer.isView(audio)) return new Uint8Array(audio.buffer, audio.byteOffset, audio.byteLength);
  return new Uint8Array(audio);
}

const PREFIXES = { encoding: "AUDIO_ENCODING_", mode: "ENDPOINTING_MODE_", patience: "PATIENCE_" };
/** Names that callers and agents choose: nothing in them is translated. */
const CHOSEN = new Set(["parameters", "variants", "slots", "arguments", "results"]);
const SECONDS = new Set(["startWindow", "stopWindow", "shortestSilence", "longestSilence", "replyBudget", "shortestSpeech", "lead"]);

/** Writes a config: durations in seconds become protobuf's, short names of enumerations the whole ones. */
function toWire(value, key = "") {
  if (Array.isArray(value)) return value.map((one) => toWire(one));
  if (value !== null && typeof value === "object") {
    if (CHOSEN.has(key)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toWire(one, name)]));
  }
  if (typeof value === "number" && SECONDS.has(key)) return duration(value);
  if (typeof value === "string" && key in PREFIXES && !value.startsWith(PREFIXES[key])) {
    return PREFIXES[key] + value.toUpperCase();
  }
  return value;
}

const DURATIONS = new Set(["start", "end", "silence", "heard", "grace", "total", "queue", "compute", "deadline", "position"]);
const ENUMERATIONS = new Set(["code", "reason", "status", "kind", "stage", "overran", "cause"]);
const ENUM_PREFIX = /^([A-Z]+_)*(REASON|CODE|STATUS|KIND|STAGE|CAUSE)_/;
const DIALOG_END = "DIALOG_END_";

/** What protobuf's JSON form leaves out. */
const DEFAULTS = {
  speechBegan: { start: 0 },
  transcript: { text: "", isFinal: false, start: 0, end: 0, languageCode: "" },
  speechPaused: { text: "", probability: 0, start: 0, end: 0, silence: 0 },
  speechResumed: { start: 0 },
  speechEnded: { end: 0, silence: null, requestId: "" },
  reply: {
    transcript: "",
    intent: null,
    slots: [],
    answer: null,
    values: [],
    speechText: "",
    requestId: "",
    completes: false,
  },
  replyAudio: { start: 0, last: false },
  replyHeld: { position: 0 },
  replyResumed: { position: 0 },
  interrupted: { heard: 0, heardText: "" },
  notice: { message: "", turn: 0, requestId: "" },
  toolCall: { arguments: {}, parameters: {} },
};

/** Reads a message: durations become seconds, enumerations short names. */
function fromWire(value, key = "") {
  if (Array.isArray(value)) return value.map((one) => fromWire(one, typeof one === "string" ? key : ""));
  if (value !== null && typeof value === "object") {
    if (CHOSEN.has(key)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fromWire(one, name)]));
  }
  if (typeof value === "string" && key === "end" && value.startsWith(DIALOG_END)) return value.slice(DIALOG_END.length);
  if (typeof value === "string" && DURATIONS.has(key)) return Number.parseFloat(value);
  if (typeof value === "string" && ENUMERATIONS.has(key)) return value.replace(ENUM_PREFIX, "");
  return value;
}

function problem(body) {
  const details = { status: body.status, field: body.field ?? null, retrySeconds: body.retry_seconds ?? null };
  return new VivavoceError(body.detail ?? "The server refused, without a word.", body.reason ?? "UNKNOWN", details);
}
