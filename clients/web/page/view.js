/** Shows a conversation: what is said, what was understood, and how long it took. */

const TARGET_MS = 300;
const MOST_BARS = 40;
const PASSAGE_CHARACTERS = 140;

const find = (id) => document.getElementById(id);

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

export class View {
  #turns = new Map();
  #latencies = [];
  #documents;

  /** `documents` returns the texts that answers are found in. */
  constructor(documents) {
    this.#documents = documents;
  }

  status(text, isError = false) {
    find("status").textContent = text;
    find("status").classList.toggle("error", isError);
  }

  listening(source) {
    find("listen").setAttribute("aria-pressed", String(source !== null));
    find("listen-label").textContent = source === null ? "Listen to the microphone" : `Stop the ${source}`;
    if (source === null) this.level(0);
  }

  level(share) {
    find("level").style.transform = `scaleX(${share.toFixed(3)})`;
  }

  /** Words that may still change are set apart from those that have stayed. */
  transcript({ turn, text, isFinal }) {
    const { said } = this.#turn(turn);
    const stable = isFinal ? text : commonWords(said.dataset.text ?? "", text);
    said.dataset.text = text;
    said.classList.toggle("open", !isFinal);
    said.replaceChildren(stable, element("span", "changing", text.slice(stable.length)));
    this.#follow();
  }

  pause({ turn, probability }) {
    const { pause } = this.#turn(turn);
    pause.hidden = false;
    pause.querySelector("meter").value = probability;
    pause.querySelector("span").textContent = `pause; over: ${Math.round(100 * probability)} %`;
  }

  resumed(turn) {
    this.#turn(turn).pause.hidden = true;
  }

  reply(reply) {
    const { said, card, pause } = this.#turn(reply.turn);
    pause.hidden = true;
    // What an agent says by itself answers no words.
    said.hidden = !reply.transcript && reply.type === "prompt";
    said.classList.remove("open");
    said.replaceChildren(reply.transcript);
    card.replaceChildren(...this.#understood(reply));
    card.hidden = false;
    find("spoken").textContent = reply.speechText || reply.answer?.text || "";
    if (reply.turnMs !== undefined && !reply.completes) this.#latency("turn-ms", reply.turnMs);
    if (reply.turnMs !== undefined && !reply.completes) this.#chart(reply.turnMs);
    this.#follow();
  }

  /** Shows what an agent says first, where it is not spoken. */
  greeting(text) {
    const { said, card } = this.#turn(0);
    said.hidden = true;
    card.replaceChildren(element("p", "answer", text));
    card.hidden = false;
  }

  firstAudio(turn, milliseconds) {
    this.#latency("voice-ms", milliseconds);
    this.#figures(turn, `voice after ${Math.round(milliseconds)} ms`);
  }

  speaking(turn, speaks) {
    this.#turns.get(turn)?.card.classList.toggle("speaking", speaks);
  }

  interrupted({ turn, heard, heardText }) {
    const { card } = this.#turn(turn);
    const heardWords = heardText ? `: “${heardText}”` : "";
    card.append(element("p", "note", `interrupted; ${heard.toFixed(1)} s were heard${heardWords}`));
  }

  notice(turn, message) {
    if (turn) this.#turn(turn).card.hidden = false;
    if (turn) this.#turn(turn).card.append(element("p", "note", message));
    else this.status(message);
  }

  begin() {
    this.#turns.clear();
  }

  #turn(turn) {
    if (!this.#turns.has(turn)) {
      find("empty")?.remove();
      const box = element("article", "turn");
      const said = element("p", "said open");
      const pause = element("p", "pause");
      const meter = element("meter");
      meter.max = 1;
      meter.setAttribute("aria-label", "How probable it is that the turn is over");
      pause.append(meter, element("span"));
      pause.hidden = true;
      const card = element("div", "reply");
      card.hidden = true;
      box.append(said, pause, card);
      find("turns").append(box);
      this.#turns.set(turn, { said, pause, card });
    }
    return this.#turns.get(turn);
  }

  #understood(reply) {
    const parts = [];
    const chips = element("div", "chips");
    const intent = reply.dialog ? reply.dialog.intent : reply.intent?.name;
    if (intent && intent !== "none") {
      const chip = element("span", "chip intent", spaced(intent));
      chip.title = reply.dialog ? "what the agent is about" : `intent, ${Math.round(100 * (reply.intent.confidence ?? 0))} %`;
      chips.append(chip);
    }
    // An agent's slots hold what was said in all turns.
    for (const slot of reply.dialog ? [] : reply.slots) {
      const chip = element("span", "chip");
      chip.append(element("b", "", spaced(slot.name)), ` ${slot.resolved?.value ?? (slot.value || slot.text)}`);
      chips.append(chip);
    }
    for (const [name, value] of Object.entries(reply.dialog?.slots ?? {})) {
      const chip = element("span", "chip", ` ${value}`);
      chip.prepend(element("b", "", spaced(name)));
      chips.append(chip);
    }
    if (chips.childElementCount) parts.push(chips);
    if (reply.dialog) parts.push(element("p", "answer", reply.speechText));
    else if (reply.answer?.text) parts.push(element("p", "answer", reply.answer.text), this.#passage(reply.answer));
    else if (reply.speechText) parts.push(element("p", "answer", reply.speechText));
    const server = Math.round(1000 * (reply.latency?.total ?? 0));
    const turn = reply.turnMs === undefined ? "" : `reply ${Math.round(reply.turnMs)} ms after the last sound · `;
    parts.push(element("p", "figures", `${turn}server ${server} ms`));
    for (const one of reply.dialog?.fulfilments ?? []) parts.push(element("p", "note", `to be carried out: ${one.name}`));
    if (reply.dialog?.end) parts.push(element("p", "note", "the dialog is over"));
    if (reply.status === "PARTIAL") parts.push(element("p", "note", "the rest follows …"));
    else if (reply.status !== "COMPLETE") parts.push(element("p", "note", `the reply is ${reply.status.toLowerCase()}`));
    else if (reply.completes) parts.push(element("p", "note", "completed late"));
    return parts;
  }

  /** Shows the answer where it stands in its document. */
  #passage({ documentId, start = 0, end = 0, text }) {
    const passage = element("p", "passage");
    const found = this.#documents().find((one) => one.id === documentId);
    if (!found) return passage;
    // Places count code points, as Python does.
    const letters = Array.from(found.text);
    const before = letters.slice(Math.max(0, start - PASSAGE_CHARACTERS), start).join("").replace(/^\W+/, "");
    const after = letters.slice(end, end + PASSAGE_CHARACTERS).join("");
    passage.append(start > PASSAGE_CHARACTERS ? "…" : "", before, element("mark", "", text), after);
    passage.append(letters.length > end + PASSAGE_CHARACTERS ? "…" : "", ` — ${found.id}`);
    return passage;
  }

  #figures(turn, text) {
    const line = this.#turns.get(turn)?.card.querySelector(".figures");
    if (line) line.textContent += ` · ${text}`;
  }

  #latency(id, milliseconds) {
    const figure = find(id);
    figure.textContent = String(Math.round(milliseconds));
    figure.classList.toggle("good", milliseconds <= TARGET_MS);
    figure.classList.toggle("slow", milliseconds > 2 * TARGET_MS);
  }

  #chart(milliseconds) {
    this.#latencies.push(milliseconds);
    const sorted = this.#latencies.toSorted((one, other) => one - other);
    this.#latency("median-ms", sorted[sorted.length >> 1]);
    const shown = this.#latencies.slice(-MOST_BARS);
    const most = Math.max(2 * TARGET_MS, ...shown);
    const make = (tag, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      return made;
    };
    const line = 48 - (48 * TARGET_MS) / most;
    find("chart").replaceChildren(
      ...shown.map((one, at) => make("rect", { x: 5 * at, width: 4, y: 48 - (48 * one) / most, height: (48 * one) / most })),
      make("line", { x1: 0, x2: 200, y1: line, y2: line }),
    );
  }

  #follow() {
    const turns = find("turns");
    turns.scrollTop = turns.scrollHeight;
  }
}

/** Returns a name of a program as words. */
function spaced(name) {
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
}

/** Returns the words with which both texts begin. */
function commonWords(one, other) {
  const words = other.match(/\S+\s*/g) ?? [];
  let common = "";
  for (const word of words) {
    if (!one.startsWith(common + word.trimEnd())) break;
    common += word;
  }
  return common;
}
