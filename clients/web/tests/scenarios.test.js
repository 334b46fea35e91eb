/** Plays tests/scenarios, which the Python client is held to as well. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { connect } from "../vivavoce.js";
import { FakeSocket, until } from "./fake_server.js";

const SCENARIOS = new URL("../../../tests/scenarios/reconnecting.json", import.meta.url);
const FRAME_BYTES = { LINEAR_PCM: 2, MULAW: 1 };

function joined(pieces) {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)));
}

class Player {
  constructor({ audio = { encoding: "LINEAR_PCM", sampleRateHz: 16_000 } }) {
    FakeSocket.made = [];
    globalThis.WebSocket = FakeSocket;
    this.bytesPerSecond = FRAME_BYTES[audio.encoding] * audio.sampleRateHz;
    this.conversation = connect("http://localhost:8080").converse({ audio }, { reconnectSeconds: 10 });
    this.names = new Map();
    this.told = [];
    (async () => {
      for await (const event of this.conversation) this.told.push(event);
    })();
    this.socket.start();
  }

  get socket() {
    return FakeSocket.made.at(-1);
  }

  sound(runs) {
    return Buffer.concat(runs.map(([byte, seconds]) => Buffer.alloc(seconds * this.bytesPerSecond, byte)));
  }

  async play(step) {
    if (step.audio) for (const run of step.audio) this.conversation.sendAudio(new Uint8Array(this.sound([run])));
    if (step.text) this.names.set(step.text, this.conversation.sendText(step.text));
    if (step.end) this.names.set(step.end, this.conversation.endUtterance());
    if (step.update) this.conversation.update(step.update);
    if (step.server) await this.hear(step);
    if (step.again) await this.lose(step);
  }

  async hear({ server, told = {} }) {
    const [[type, body]] = Object.entries(server);
    const named = body.requestId ? { ...body, requestId: this.names.get(body.requestId) } : body;
    const before = this.told.length;
    this.socket.say({ [type]: named });
    await until(() => this.told.length > before);
    for (const [name, value] of Object.entries(told)) assert.equal(this.told.at(-1)[name], value, name);
  }

  async lose({ again, lost, replayed }) {
    const count = FakeSocket.made.length;
    this.socket.lose();
    await until(() => FakeSocket.made.length > count);
    this.socket.start();
    await until(() => this.told.at(-1)?.type === "reconnected");
    assert.deepEqual([this.told.at(-1).lostSeconds, this.told.at(-1).replayedSeconds], [lost, replayed]);
    const sent = [];
    for (const one of this.socket.sent.filter((request) => !request.config)) {
      if (!ArrayBuffer.isView(one)) sent.push(one.text ?? one.update ?? "/");
      else if (Array.isArray(sent.at(-1))) sent.at(-1).push(one);
      else sent.push([one]);
    }
    assert.equal(sent.length, again.length);
    again.forEach((expected, at) => {
      if (Array.isArray(expected)) assert.ok(joined(sent[at]).equals(this.sound(expected)), `audio ${at}`);
      else if (typeof expected === "string") assert.equal(sent[at], expected);
      else assert.deepEqual(plain(sent[at]), plain(expected));
    });
  }
}

/** Without empty lists, as protobuf has it. */
function plain(value) {
  return JSON.parse(JSON.stringify(value, (_, one) => (Array.isArray(one) && one.length === 0 ? undefined : one)));
}

for (const scenario of JSON.parse(readFileSync(SCENARIOS, "utf8"))) {
  test(scenario.name, async () => {
    const player = new Player(scenario);
    for (const step of scenario.steps) await player.play(step);
    player.conversation.close();
  });
}
