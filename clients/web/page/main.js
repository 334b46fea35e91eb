/** The page: connects what a person does with a conversation, and a conversation with what is shown. */

import { connect } from "/vivavoce.js";
import { Documents } from "./documents.js";
import { Player } from "./player.js";
import { listenToMicrophone, playRecording } from "./sources.js";
import { View } from "./view.js";

const RECONNECT_SECONDS = 30;
const SAMPLE = `The Harbour Museum is open from ten to six, on Thursdays until nine, and closed on Mondays.
A ticket is 12 euros for adults and 5 euros for children. Dogs wait outside; the café by the door has water for them.`;
const find = (id) => document.getElementById(id);

const documents = new Documents(find("documents"), (texts) => conversation?.update({ documents: { documents: texts } }));
const view = new View(() => documents.texts);
const player = new Player(
  (turn, seconds, finished) => conversation?.playback(turn, seconds, finished),
  (turn, speaks) => view.speaking(turn, speaks),
);
let conversation = null;
let source = null;
const heardFirst = new Set();

function config() {
  return {
    interimResults: true,
    prompts: true,
    documents: documents.texts,
    endpointing: { patience: find("patience").value },
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(find("agent").value ? { agent: find("agent").value } : {}),
    ...(find("speaks").checked ? { replyAudio: { encoding: "LINEAR_PCM", sampleRateHz: 24_000 } } : {}),
  };
}

/** Returns the conversation that is held, or begins one. */
async function talking() {
  if (conversation) return conversation;
  await checkToken();
  heardFirst.clear();
  view.begin();
  const client = connect(location.origin, { token: sessionStorage.getItem("token") });
  conversation = client.converse(config(), { reconnectSeconds: RECONNECT_SECONDS });
  view.status("Connecting …");
  show(conversation);
  return conversation;
}

async function show(shown) {
  try {
    for await (const event of shown) tell(event);
    view.status("The conversation has ended");
  } catch (error) {
    view.status(error.message, true);
  }
  if (conversation === shown) {
    conversation = null;
    stopSource();
  }
}

function tell(event) {
  switch (event.type) {
    case "started":
      if (event.greeting && !find("speaks").checked) view.greeting(event.greeting);
      return view.status("Connected");
    case "reconnected":
      return view.status("Connected again; what was not answered was sent again");
    case "transcript":
      return view.transcript(event);
    case "speechPaused":
      return view.pause(event);
    case "speechResumed":
      return view.resumed(event.turn);
    case "reply":
    case "prompt":
      return view.reply(event);
    case "replyAudio":
      if (!heardFirst.has(event.turn) && event.sinceLastSoundMs !== undefined) {
        view.firstAudio(event.turn, event.sinceLastSoundMs);
      }
      heardFirst.add(event.turn);
      return player.play(event);
    case "replyHeld":
      return player.hold();
    case "replyResumed":
      return player.resume();
    case "interrupted":
      player.stop();
      return view.interrupted(event);
    case "notice":
      return view.notice(event.turn, event.message);
    case "goingAway":
      return view.status(`The server ends this conversation soon: ${event.reason.toLowerCase()}`);
  }
}

/** Asks for a token where the server wants one. */
async function checkToken() {
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const { status } = await fetch("/v1/models", { headers });
  if (status !== 401) return;
  const dialog = find("ask-token");
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  sessionStorage.setItem("token", find("token").value.trim());
  await offerAgents();
}

/** Offers the agents that the server has; an old server has none. */
async function offerAgents() {
  const token = sessionStorage.getItem("token");
  const response = await fetch("/v1/agents", { headers: token ? { authorization: `Bearer ${token}` } : {} });
  if (!response.ok) return;
  const { agents } = await response.json();
  find("agent").append(...agents.map((name) => new Option(name.replaceAll("_", " "), name)));
  find("agents").hidden = agents.length === 0;
}

function stopSource() {
  source?.stop();
  source = null;
  view.listening(null);
}

function hear(samples) {
  let power = 0;
  for (const sample of samples) power += sample * sample;
  const decibels = 10 * Math.log10(power / samples.length + 1e-9);
  view.level(Math.max(0, Math.min(1, (decibels + 60) / 50)));
  conversation?.sendAudio(samples);
}

/** Runs what a person asked for; what goes wrong is said in the page. */
function run(action) {
  return async (event) => {
    event.preventDefault();
    player.wake();
    try {
      await action(event);
    } catch (error) {
      stopSource();
      const denied = error.name === "NotAllowedError";
      view.status(denied ? "The microphone was not allowed: allow it for this page, and try again." : error.message, true);
    }
  };
}

find("listen").onclick = run(async () => {
  if (source) return stopSource();
  await talking();
  source = await listenToMicrophone(hear, { cancelsEcho: find("speaks").checked && !find("headphones").checked });
  view.listening("microphone");
});

async function playFile(file) {
  stopSource();
  await talking();
  source = await playRecording(file, hear, stopSource);
  view.listening("recording");
}

find("recording").onchange = run(async ({ target }) => {
  if (target.files.length) await playFile(target.files[0]);
  target.value = "";
});

find("typed").onsubmit = run(async () => {
  const text = find("text").value.trim();
  if (!text) return;
  (await talking()).sendText(text);
  find("text").value = "";
});

for (const example of document.querySelectorAll("#empty [data-turn]")) {
  example.onclick = run(async () => (await talking()).sendText(example.dataset.turn));
}

find("ask-sample").onclick = run(async () => {
  documents.add("museum", SAMPLE);
  (await talking()).sendText("How much is a ticket for children?");
});

// Whoever chooses an agent is greeted by it.
find("call-agent").onclick = run(talking);

find("patience").onchange = () => conversation?.update({ endpointing: { patience: find("patience").value } });
find("speaks").onchange = () => {
  // Whether replies are spoken is settled when a conversation begins: the next one will have it.
  player.stop();
  stopSource();
  conversation?.finish();
  conversation = null;
};

find("paste").onsubmit = run(async () => {
  documents.add("written here", find("pasted").value);
  find("pasted").value = "";
});

async function addFiles(files) {
  for (const file of files) {
    if (file.type.startsWith("audio/") || /\.(wav|flac|ogg|mp3)$/i.test(file.name)) await playFile(file);
    else documents.add(file.name, await file.text());
  }
}

find("files").onchange = run(async ({ target }) => {
  await addFiles(target.files);
  target.value = "";
});

addEventListener("dragover", (event) => {
  event.preventDefault();
  find("drop").classList.add("over");
});
addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || find("drop").classList.remove("over"));
addEventListener(
  "drop",
  run(async ({ dataTransfer }) => {
    find("drop").classList.remove("over");
    await addFiles(dataTransfer.files);
  }),
);

// Another agent holds another conversation.
find("agent").onchange = () => {
  conversation?.finish();
  const call = document.getElementById("call-agent");
  if (call) call.hidden = !find("agent").value;
  for (const example of document.querySelectorAll("#empty [data-turn], #ask-sample")) example.hidden = !call?.hidden;
};
// On a phone the conversation has the room.
find("options").open = matchMedia("(min-width: 52.01rem)").matches;
offerAgents();
