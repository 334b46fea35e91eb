/** Plays spoken replies as they come, holds them while somebody speaks, and tells how far they were heard. */

const RATE_HZ = 24_000;
const LEAD_SECONDS = 0.02;
const TELL_MS = 200;

export class Player {
  #context = null;
  #turn = 0;
  #began = 0;
  #until = 0;
  #length = 0;
  #nodes = new Set();
  #isHeld = false;
  #hasLast = false;
  #timer = null;
  #tell;
  #onSpeaking;

  /** `tell(turn, seconds, finished)` hears of progress, `onSpeaking(turn, speaks)` of beginnings and ends. */
  constructor(tell, onSpeaking) {
    this.#tell = tell;
    this.#onSpeaking = onSpeaking;
  }

  /** Browsers allow sound only after the person has done something: call it from a click. */
  wake() {
    this.#context ??= new AudioContext({ sampleRate: RATE_HZ });
    if (!this.#isHeld) this.#context.resume();
  }

  /** Stops at once; what is not played is kept. The clock of the context stands still too. */
  hold() {
    if (!this.#turn) return;
    this.#isHeld = true;
    this.#context.suspend();
    this.#progress();
  }

  /** Goes on where it stopped. */
  resume() {
    this.#isHeld = false;
    this.#context?.resume();
  }

  play({ turn, audio, last }) {
    this.wake();
    const now = this.#context.currentTime;
    if (turn !== this.#turn) {
      this.stop();
      this.#turn = turn;
      this.#began = this.#until = now + LEAD_SECONDS;
      this.#length = 0;
      this.#hasLast = false;
      this.#timer = setInterval(() => this.#progress(), TELL_MS);
      this.#onSpeaking(turn, true);
    }
    this.#hasLast ||= last;
    if (audio.byteLength === 0) return;
    const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.byteLength >> 1);
    const buffer = this.#context.createBuffer(1, samples.length, RATE_HZ);
    const channel = buffer.getChannelData(0);
    for (let at = 0; at < samples.length; at++) channel[at] = samples[at] / 32_768;
    const node = new AudioBufferSourceNode(this.#context, { buffer });
    node.connect(this.#context.destination);
    if (this.#until < now) {
      // What came late moves the rest.
      this.#began += now + LEAD_SECONDS - this.#until;
      this.#until = now + LEAD_SECONDS;
    }
    node.start(this.#until);
    this.#until += buffer.duration;
    this.#length += buffer.duration;
    this.#nodes.add(node);
    node.onended = () => this.#nodes.delete(node);
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = null;
    for (const node of this.#nodes) node.stop();
    this.#nodes.clear();
    if (this.#isHeld) this.resume();
    if (this.#turn) this.#onSpeaking(this.#turn, false);
    this.#turn = 0;
  }

  #progress() {
    const heard = Math.max(0, Math.min(this.#length, this.#context.currentTime - this.#began));
    const finished = this.#hasLast && heard >= this.#length;
    this.#tell(this.#turn, heard, finished);
    if (finished) this.stop();
  }
}
