/**
 * What would have to be said again if the connection were lost now: everything that was sent and not answered yet.
 *
 * Positions are in bytes of audio from the start of the present stream, and turns have that stream's numbers. `placed`
 * makes both those of the whole conversation: a new stream goes on where the kept audio begins.
 */

const MAX_SECONDS = 30;
const MAX_BYTES = 8 * 1024 * 1024;
const PIECE_BYTES = 512 * 1024;
const FRAME_BYTES = { LINEAR_PCM: 2, LINEAR_PCM_FLOAT32: 4, MULAW: 1, ALAW: 1 };
const SILENCE = { LINEAR_PCM: 0, LINEAR_PCM_FLOAT32: 0, MULAW: 0xff, ALAW: 0xd5 };

export class LookBack {
  #rateHz;
  #frameBytes;
  #silence;
  #maxBytes;
  #audio = new Uint8Array(64 * 1024);
  #length = 0;
  #keptFrom = 0;
  #marks = [];
  #utterances = [];
  #update = {};
  #partial = new Map();
  #lastAnswered = 0;
  #earlierSeconds = 0;
  #earlierTurns = 0;

  constructor(audio) {
    const encoding = String(audio?.encoding ?? "").replace("AUDIO_ENCODING_", "");
    this.#rateHz = audio?.sampleRateHz ?? 0;
    this.#frameBytes = (FRAME_BYTES[encoding] ?? 0) * (audio?.channelCount || 1);
    this.#silence = SILENCE[encoding] ?? 0;
    // Audio that cannot be cut is not kept: a new stream begins with what is said then.
    this.#maxBytes = Math.min(MAX_SECONDS * this.#rateHz * this.#frameBytes, MAX_BYTES);
  }

  /** Where the audio that was sent ends. */
  get end() {
    return this.#keptFrom + this.#length;
  }

  position(seconds) {
    return Math.round(seconds * this.#rateHz) * this.#frameBytes;
  }

  audio(bytes) {
    if (this.#maxBytes === 0) return;
    const needed = this.#length + bytes.byteLength;
    if (needed > this.#audio.byteLength) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#audio.byteLength));
      larger.set(this.#audio.subarray(0, this.#length));
      this.#audio = larger;
    }
    this.#audio.set(bytes, this.#length);
    this.#length = needed;
    if (this.#length > this.#maxBytes) this.#dropTo(this.end - this.#maxBytes);
  }

  /** Keeps a typed turn or an end of utterance, which carries a `requestId`. */
  mark(request) {
    this.#marks.push({ position: this.end, request });
  }

  update(update) {
    if (update.endpointing) this.#update.endpointing = { ...this.#update.endpointing, ...update.endpointing };
    if (update.documents) this.#update.documents = update.documents;
    if (update.phraseHints) this.#update.phraseHints = update.phraseHints;
    if (update.knowledge) this.#update.knowledge = update.knowledge;
    if (update.variants) this.#update.variants = update.variants;
    if (update.secondOpinion !== undefined) this.#update.secondOpinion = update.secondOpinion;
    if (update.session) {
      const parameters = { ...this.#update.session?.parameters, ...update.session.parameters };
      this.#update.session = { parameters };
    }
  }

  /** The number that the present stream has for a turn; null for a turn of an earlier one, 0 for no turn. */
  presentTurn(turn) {
    if (turn === 0) return 0;
    return turn > this.#earlierTurns ? turn - this.#earlierTurns : null;
  }

  /** Drops what an event of the present stream answers. */
  heard(event) {
    switch (event.type) {
      case "speechBegan": {
        const start = this.position(event.start);
        this.#utterances.push({ turn: event.turn, start, end: start, answered: false });
        break;
      }
      case "speechEnded":
        for (const utterance of this.#utterancesOf(event.turn)) utterance.end = this.#endOf(event);
        break;
      case "notice":
        if (event.code === "NO_SPEECH") this.#forget(event.requestId);
        break;
      case "reply":
      case "prompt":
        if (event.status === "PARTIAL" && !event.dialog) this.#partial.set(event.turn, event);
        else this.#whole(event);
    }
  }

  /** Returns an event of the present stream with its place and its turn in the whole conversation. */
  placed(event) {
    const placed = { ...event };
    if (placed.turn) placed.turn += this.#earlierTurns;
    if (["speechBegan", "transcript", "speechPaused", "speechResumed", "speechEnded"].includes(event.type)) {
      for (const name of ["start", "end"]) if (name in placed) placed[name] += this.#earlierSeconds;
    }
    return placed;
  }

  /** Goes over to a new stream; returns the requests that it begins with, audio as Uint8Array, and what is left out. */
  beginAnew() {
    const open = this.#utterances.filter((one) => !one.answered).map((one) => one.start);
    const lost = Math.max(0, this.#keptFrom - Math.min(this.#keptFrom, ...open));
    const requests = this.#requests();
    const droppedBytes = this.#keptFrom;
    this.#marks = this.#marks.map(({ position, request }) => ({
      position: Math.max(0, position - this.#keptFrom),
      request,
    }));
    this.#earlierSeconds += this.#seconds(this.#keptFrom);
    this.#earlierTurns += this.#lastAnswered;
    this.#keptFrom = this.#lastAnswered = 0;
    this.#utterances = [];
    this.#partial.clear();
    return { lostSeconds: this.#seconds(lost), replayedSeconds: this.#seconds(this.#length), droppedBytes, requests };
  }

  #seconds(bytes) {
    return this.#frameBytes === 0 ? 0 : bytes / this.#frameBytes / this.#rateHz;
  }

  #utterancesOf(turn) {
    return this.#utterances.filter((one) => one.turn === turn);
  }

  /** Up to where the server took the audio as part of an utterance that has ended. */
  #endOf(ended) {
    if (ended.reason === "REQUESTED") {
      const mark = this.#marks.find(({ request }) => request.requestId === ended.requestId);
      if (mark) return mark.position;
    }
    return ended.reason === "HALF_CLOSE" ? this.end : this.position(ended.end);
  }

  #forget(requestId) {
    this.#marks = this.#marks.filter(({ request }) => request.requestId !== requestId);
  }

  /** Takes a turn for answered, and those before it: an older server completes no reply. */
  #whole(reply) {
    for (const turn of [...this.#partial.keys()].sort((one, other) => one - other)) {
      if (turn > reply.turn || reply.type === "prompt") continue;
      this.#answered(this.#partial.get(turn));
      this.#partial.delete(turn);
    }
    if (!reply.completes) this.#answered(reply);
  }

  #answered(reply) {
    this.#lastAnswered = Math.max(this.#lastAnswered, reply.turn);
    if (reply.requestId) this.#forget(reply.requestId);
    for (const utterance of this.#utterancesOf(reply.turn)) utterance.answered = true;
    while (this.#utterances.length && this.#utterances[0].answered) this.#dropTo(this.#utterances.shift().end);
    // One that was said before it is still open: what follows keeps its position.
    for (const { start, end } of this.#utterancesOf(reply.turn)) {
      this.#audio.fill(
        this.#silence,
        Math.max(0, start - this.#keptFrom),
        Math.max(0, Math.min(end - this.#keptFrom, this.#length)),
      );
    }
  }

  #dropTo(position) {
    const count = Math.min(position - this.#keptFrom, this.#length);
    if (count <= 0) return;
    this.#audio.copyWithin(0, count, this.#length);
    this.#length -= count;
    this.#keptFrom += count;
  }

  #requests() {
    const requests = Object.keys(this.#update).length ? [{ update: this.#update }] : [];
    let sent = 0;
    const send = (upto) => {
      for (; sent < upto; sent += Math.min(PIECE_BYTES, upto - sent)) {
        requests.push(this.#audio.slice(sent, Math.min(sent + PIECE_BYTES, upto)));
      }
    };
    for (const { position, request } of this.#marks) {
      send(Math.max(sent, position - this.#keptFrom));
      requests.push(request);
    }
    send(this.#length);
    return requests;
  }
}
