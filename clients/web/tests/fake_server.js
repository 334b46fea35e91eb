/** A stand-in for WebSocket with a server that the test plays. */

export class FakeSocket {
  static OPEN = 1;
  static made = [];
  readyState = 0;
  bufferedAmount = 0;
  sent = [];

  constructor(url, protocols) {
    this.url = String(url);
    this.protocols = protocols;
    FakeSocket.made.push(this);
  }

  send(data) {
    this.sent.push(typeof data === "string" ? JSON.parse(data) : data);
  }

  close(code = 1000) {
    this.lose(code);
  }

  /** The server accepts the connection and its config. */
  start() {
    this.readyState = 1;
    this.onopen();
    this.say({ started: { conversationId: `c${FakeSocket.made.length}` } });
  }

  say(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }

  sound(bytes) {
    this.onmessage({ data: Uint8Array.from(bytes).buffer });
  }

  lose(code = 1006) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose({ code });
  }

  /** What was sent without the config and audio. */
  get requests() {
    return this.sent.filter((one) => !ArrayBuffer.isView(one) && !one.config);
  }

  get audioBytes() {
    return this.sent.filter(ArrayBuffer.isView).reduce((sum, one) => sum + one.byteLength, 0);
  }
}

export async function until(condition) {
  for (let tries = 0; tries < 500; tries++) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it did not happen");
}
