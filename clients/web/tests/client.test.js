import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { connect, VivavoceError } from "../vivavoce.js";
import { FakeSocket, until } from "./fake_server.js";

const SECOND = new Int16Array(16_000);

beforeEach(() => {
  FakeSocket.made = [];
  globalThis.WebSocket = FakeSocket;
});

function begin(config = {}, options = {}, client = {}) {
  const conversation = connect("http://localhost:8080", client).converse(config, options);
  const events = [];
  const done = (async () => {
    for await (const event of conversation) events.push(event);
  })();
  done.catch(() => {});
  return { conversation, events, done, socket: FakeSocket.made.at(-1) };
}

test("the config goes first, in the server's names, and the rest waits for its acceptance", async () => {
  const config = { endpointing: { patience: "EAGER", longestSilence: 1.5 }, documents: [{ text: "5s" }] };
  const { conversation, socket } = begin(config, {}, { token: "vv_x" });
  conversation.sendText("hello");
  conversation.sendAudio(new Float32Array([0, 1, -1, 2]));
  assert.deepEqual(socket.sent, []);
  socket.start();
  assert.equal(socket.url, "ws://localhost:8080/v1/converse");
  assert.deepEqual(socket.protocols, ["vivavoce.v1", "vivavoce-token.vv_x"]);
  assert.deepEqual(socket.sent[0].config.endpointing, { patience: "PATIENCE_EAGER", longestSilence: "1.500000s" });
  assert.deepEqual(socket.sent[0].config.documents, [{ text: "5s" }]);
  assert.equal(socket.sent[0].config.audio.encoding, "AUDIO_ENCODING_LINEAR_PCM");
  assert.deepEqual(socket.sent[1], { text: "hello", requestId: "js-1" });
  assert.deepEqual([...new Int16Array(socket.sent[2].buffer)], [0, 32_767, -32_767, 32_767]);
  conversation.close();
});

test("messages become events with seconds and short names", async () => {
  const { conversation, events, socket, done } = begin();
  socket.start();
  conversation.sendAudio(SECOND);
  socket.say({ speechBegan: { turn: 1, start: "0.100s" } });
  socket.say({ transcript: { turn: 1, text: "REPLY_STATUS_X 5s", isFinal: true, start: "0.1s", end: "0.900s" } });
  socket.say({ speechEnded: { turn: 1, end: "0.900s", reason: "END_REASON_SILENCE", silence: "0.2s" } });
  socket.say({ reply: { turn: 1, status: "REPLY_STATUS_COMPLETE", latency: { total: "0.012s" } } });
  socket.say({ replyAudio: { turn: 1, last: true } });
  socket.sound([1, 2, 3]);
  conversation.finish();
  assert.deepEqual(socket.sent.at(-1), { halfClose: {} });
  socket.close();
  await done;
  assert.deepEqual(events.map((one) => one.type), [
    "started", "speechBegan", "transcript", "speechEnded", "reply", "replyAudio",
  ]);
  const [, began, transcript, ended, reply, audio] = events;
  assert.equal(began.start, 0.1);
  assert.equal(transcript.text, "REPLY_STATUS_X 5s");
  assert.deepEqual([ended.reason, ended.silence], ["SILENCE", 0.2]);
  assert.deepEqual([reply.status, reply.latency.total, reply.slots, reply.answer], ["COMPLETE", 0.012, [], null]);
  assert.ok(reply.turnMs >= 0 && reply.turnMs < 5_000);
  assert.deepEqual([...audio.audio], [1, 2, 3]);
  assert.ok(audio.sinceLastSoundMs >= reply.turnMs);
});

test("a reply that was partial is completed", async () => {
  const { conversation, events, socket } = begin({}, { reconnectSeconds: 10 });
  socket.start();
  const requestId = conversation.sendText("when?");
  const results = { shouting: { status: "REPLY_STATUS_X", end: "5s" } }; // names of the server's own: nothing is translated
  socket.say({ reply: { turn: 1, status: "REPLY_STATUS_PARTIAL", overran: ["STAGE_QA"], requestId } });
  socket.say({ replyCompleted: { turn: 1, status: "REPLY_STATUS_COMPLETE", answer: { text: "nine" }, results, requestId } });
  await until(() => events.at(-1)?.completes);
  const [, partial, whole] = events;
  assert.deepEqual([partial.type, partial.status, partial.completes], ["reply", "PARTIAL", false]);
  assert.deepEqual([whole.type, whole.status, whole.answer.text, whole.turn], ["reply", "COMPLETE", "nine", 1]);
  assert.deepEqual(whole.results, results);
  conversation.close();
});

test("turn latency counts from when the last sound was sent", async () => {
  const { conversation, events, socket } = begin();
  socket.start();
  conversation.sendAudio(SECOND);
  await new Promise((resolve) => setTimeout(resolve, 200));
  conversation.sendAudio(SECOND);
  socket.say({ speechBegan: { turn: 1, start: "0.1s" } });
  socket.say({ speechEnded: { turn: 1, end: "0.9s", reason: "END_REASON_SILENCE" } });
  socket.say({ reply: { turn: 1, status: "REPLY_STATUS_COMPLETE" } });
  await until(() => events.at(-1)?.type === "reply");
  assert.ok(events.at(-1).turnMs >= 190, `${events.at(-1).turnMs}`);
  conversation.close();
});

test("an error ends the conversation with its reason", async () => {
  const { socket, done } = begin();
  socket.start();
  socket.say({ error: { status: 400, reason: "EMPTY_TEXT", detail: "the text is empty", field: "text" } });
  socket.lose(1008);
  await assert.rejects(done, (error) => {
    assert.ok(error instanceof VivavoceError);
    assert.deepEqual([error.reason, error.field, error.retryable], ["EMPTY_TEXT", "text", false]);
    return true;
  });
});

test("without reconnecting a lost connection is an error", async () => {
  const { socket, done } = begin();
  socket.start();
  socket.lose();
  await assert.rejects(done, { reason: "CONNECTION_LOST" });
});

test("what was not answered is said again over a new connection", async () => {
  const { conversation, events, socket } = begin({}, { reconnectSeconds: 10 });
  socket.start();
  conversation.sendAudio(SECOND);
  conversation.sendAudio(SECOND);
  socket.say({ speechBegan: { turn: 1, start: "0.2s" } });
  socket.say({ speechEnded: { turn: 1, end: "0.5s", reason: "END_REASON_SILENCE" } });
  socket.say({ reply: { turn: 1, status: "REPLY_STATUS_COMPLETE" } });
  conversation.sendText("again");
  conversation.update({ endpointing: { patience: "EAGER" } });
  socket.lose();
  conversation.sendAudio(SECOND);
  await until(() => FakeSocket.made.length === 2);
  const second = FakeSocket.made[1];
  second.start();
  assert.equal(second.audioBytes, 2 * 16_000 * 2.5);
  assert.deepEqual(second.requests, [
    { update: { endpointing: { patience: "PATIENCE_EAGER" } } },
    { text: "again", requestId: "js-1" },
  ]);
  second.say({ reply: { turn: 1, status: "REPLY_STATUS_COMPLETE", requestId: "js-1" } });
  second.say({ speechBegan: { turn: 2, start: "0.25s" } });
  await until(() => events.at(-1).type === "speechBegan");
  const reconnected = events.find((one) => one.type === "reconnected");
  assert.deepEqual([reconnected.lostSeconds, reconnected.replayedSeconds], [0, 2.5]);
  assert.deepEqual(events.filter((one) => one.type === "reply").map((one) => one.turn), [1, 2]);
  assert.deepEqual([events.at(-1).turn, events.at(-1).start], [3, 0.75]);
  conversation.close();
});

test("controls of turns of an earlier connection are not sent", async () => {
  const { conversation, socket } = begin({}, { reconnectSeconds: 10 });
  socket.start();
  socket.say({ reply: { turn: 1, status: "REPLY_STATUS_COMPLETE" } });
  socket.lose();
  await until(() => FakeSocket.made.length === 2);
  const second = FakeSocket.made[1];
  second.start();
  conversation.playback(1, 0.5);
  conversation.playback(2, 0.5, true);
  conversation.cancelReply();
  assert.deepEqual(second.requests, [
    { playback: { turn: 1, position: "0.500000s", finished: true } },
    { cancelReply: { turn: 0 } },
  ]);
  conversation.close();
});

test("keys and session parameters are sent, and what an agent chose is left as it is", async () => {
  const { conversation, events, socket } = begin({ agent: "bar", session: { id: "a", parameters: { mode: "5" } } });
  socket.start();
  assert.deepEqual(socket.sent[0].config.session, { id: "a", parameters: { mode: "5" } });
  conversation.pressKeys("12#");
  conversation.update({ session: { parameters: { patience: "eager" } } });
  assert.deepEqual(socket.requests, [
    { dtmf: { keys: "12#" } },
    { update: { session: { parameters: { patience: "eager" } } } },
  ]);
  const dialog = { slots: { start: "7s", kind: "KIND_A" }, end: "DIALOG_END_HAND_OVER", cause: "DIALOG_CAUSE_KEYS" };
  socket.say({ reply: { turn: 1, status: "REPLY_STATUS_COMPLETE", dialog } });
  await until(() => events.some((event) => event.type === "reply"));
  const told = events.find((event) => event.type === "reply");
  assert.deepEqual(told.dialog, { slots: { start: "7s", kind: "KIND_A" }, end: "HAND_OVER", cause: "KEYS" });
  conversation.close();
});

test("what an agent says by itself is a reply, or a prompt where prompts are wanted", async () => {
  for (const [config, type] of [[{ agent: "bar" }, "reply"], [{ agent: "bar", prompts: true }, "prompt"]]) {
    const { conversation, events, socket } = begin(config);
    socket.start();
    assert.equal(socket.sent[0].config.prompts, true);
    const dialog = { cause: "DIALOG_CAUSE_NO_INPUT" };
    socket.say({ prompt: { reply: { turn: 1, status: "REPLY_STATUS_COMPLETE", speechText: "Hello?", dialog } } });
    await until(() => events.some((event) => event.turn === 1));
    const told = events.find((event) => event.turn === 1);
    assert.deepEqual([told.type, told.speechText, told.dialog.cause], [type, "Hello?", "NO_INPUT"]);
    conversation.close();
  }
});

test("a tool is asked for, and its result is sent", async () => {
  const { conversation, events, socket } = begin({ agent: "bar" });
  socket.start();
  const call = { id: "a-1", name: "order", intent: "order", arguments: { start: "7s" }, deadline: "30s" };
  socket.say({ toolCall: call });
  await until(() => events.some((event) => event.type === "toolCall"));
  const told = events.find((event) => event.type === "toolCall");
  assert.deepEqual(told, { ...call, type: "toolCall", deadline: 30, parameters: {} });
  conversation.sendToolResult(told.id, { slots: { mode: "5" }, say: "Done." });
  conversation.sendToolResult(told.id);
  assert.deepEqual(socket.requests, [
    { toolResult: { id: "a-1", slots: { mode: "5" }, say: "Done.", failed: false, parameters: {} } },
    { toolResult: { id: "a-1", slots: {}, say: "", failed: false, parameters: {} } },
  ]);
  conversation.close();
});

test("a server that never comes back is given up", async () => {
  const { socket, done } = begin({}, { reconnectSeconds: 0.5 });
  socket.start();
  socket.lose();
  const failing = setInterval(() => FakeSocket.made.at(-1).lose(), 20);
  await assert.rejects(done, { reason: "CONNECTION_LOST" });
  clearInterval(failing);
});

test("what cannot be sent any more is refused with a sentence", async () => {
  const { conversation, socket } = begin();
  socket.start();
  conversation.finish();
  assert.throws(() => conversation.sendText("late"), { reason: "FINISHED" });
  conversation.close();
  assert.throws(() => conversation.sendAudio(SECOND), { reason: "ENDED" });
});
