/** Speaks a recording to a service as a program in JavaScript does: `node web_caller.mjs URL SAMPLES DOCUMENT`. */

import { readFileSync } from "node:fs";
import { connect } from "../../clients/web/vivavoce.js";

const [url, samples, document] = process.argv.slice(2);
const client = connect(url);
const typed = await client.ask("turn on the light in the kitchen");
console.log(JSON.stringify({ type: "typed", intent: typed.intent.name }));

const speech = new Int16Array(readFileSync(samples).buffer.slice(0));
const conversation = client.converse({
  interimResults: true,
  documents: [{ id: "leaflet", text: readFileSync(document, "utf8") }],
  replyAudio: {},
  // Longer than a busy machine takes: what is late would come in two replies.
  replyBudget: 30,
});
const speaking = (async () => {
  for (let at = 0; at < speech.length; at += 320) {
    await conversation.ready();
    conversation.sendAudio(speech.subarray(at, at + 320));
    await new Promise((resolve) => setTimeout(resolve, 19));
  }
})();
for await (const event of conversation) {
  const { audio, ...told } = event;
  console.log(JSON.stringify(audio ? { ...told, bytes: audio.byteLength } : told));
  if (event.type === "replyAudio" && event.last) conversation.finish();
}
await speaking.catch(() => {});
try {
  await client.ask("");
} catch (error) {
  console.log(JSON.stringify({ type: "refused", reason: error.reason, field: error.field }));
}
