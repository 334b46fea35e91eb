/** The texts that answers are found in, and the list that shows them. */

const MOST = 32;
const MOST_BYTES = 1024 * 1024;

export class Documents {
  #texts = [];
  #list;
  #onChange;

  constructor(list, onChange) {
    this.#list = list;
    this.#onChange = onChange;
  }

  get texts() {
    return this.#texts;
  }

  /** Adds a text under a name of its own. Throws an Error that says what to do. */
  add(name, text) {
    if (!text.trim()) throw new Error(`${name} is empty: choose another one.`);
    if (text.length > MOST_BYTES) throw new Error(`${name} is too long: split it.`);
    if (this.#texts.length >= MOST) throw new Error(`There are ${MOST} documents already: remove one first.`);
    let id = name;
    for (let number = 2; this.#texts.some((one) => one.id === id); number++) id = `${name} (${number})`;
    this.#texts = [...this.#texts, { id, text }];
    this.#show();
  }

  #remove(id) {
    this.#texts = this.#texts.filter((one) => one.id !== id);
    this.#show();
  }

  #show() {
    this.#list.replaceChildren(
      ...this.#texts.map(({ id, text }) => {
        const row = document.createElement("li");
        const name = document.createElement("span");
        name.textContent = `${id} · ${text.split(/\s+/).length} words`;
        const remove = document.createElement("button");
        remove.textContent = "Remove";
        remove.setAttribute("aria-label", `Remove ${id}`);
        remove.onclick = () => this.#remove(id);
        row.append(name, remove);
        return row;
      }),
    );
    this.#onChange(this.#texts);
  }
}
