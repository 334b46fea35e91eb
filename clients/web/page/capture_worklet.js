/** Hands the microphone's samples on in pieces of 20 ms. */
class Capture extends AudioWorkletProcessor {
  #piece = new Float32Array(sampleRate / 50);
  #filled = 0;

  process([[samples]]) {
    for (let at = 0; samples && at < samples.length; ) {
      const count = Math.min(samples.length - at, this.#piece.length - this.#filled);
      this.#piece.set(samples.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled === this.#piece.length) {
        this.port.postMessage(this.#piece.slice());
        this.#filled = 0;
      }
    }
    return true;
  }
}

registerProcessor("capture", Capture);
