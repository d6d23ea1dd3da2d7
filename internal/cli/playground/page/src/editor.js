// A text with colors, the numbers of its lines, and marks where something is wrong.
import { element } from './dom.js';
import { highlight, insideAction } from './highlight.js';

const mostNumbers = 20000; // lines that have a number: a browser takes seconds to lay out many more

export class Editor {
  #text;
  #numbers = element('pre', { class: 'numbers', 'aria-hidden': 'true' });
  #marks = element('pre', { class: 'marks', 'aria-hidden': 'true' });
  #colors = element('pre', { class: 'colors', 'aria-hidden': 'true' }); // of the lines that are visible
  #lines = 0;
  #marked = false;
  node;

  constructor(name, title, changed) {
    this.#text = element('textarea', {
      id: `text-${name}`, 'aria-label': title, wrap: 'off', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', autocorrect: 'off', rows: '24',
      input: () => {
        this.#count();
        this.#marks.replaceChildren();
        changed();
      },
      scroll: () => {
        this.#follow();
        this.#color();
      },
      keydown: (event) => this.#indent(event),
    });
    this.node = element('div', { class: 'editor' },
      element('div', { class: 'gutter' }, this.#numbers), element('div', { class: 'area' }, this.#colors, this.#marks, this.#text));
    new ResizeObserver(() => this.#color()).observe(this.#text);
    this.#count();
  }

  get value() {
    return this.#text.value;
  }

  set value(text) {
    this.#text.value = text;
    this.#text.scrollTop = 0;
    this.#marks.replaceChildren();
    this.#count();
  }

  // Marks what findings and problems are about.
  mark(all) {
    this.#text.setAttribute('aria-invalid', String(all.some((f) => f.severity !== 'warning')));
    if (all.length === 0 && !this.#marked) {
      return;
    }
    this.#marked = all.length > 0;
    this.#marks.replaceChildren();
    this.#numbers.querySelectorAll('span').forEach((old) => old.remove());
    const lines = this.value.split('\n');
    const told = new Set();
    for (const f of all.slice(0, 100)) {
      const line = lines[f.line - 1];
      if (line === undefined) {
        continue;
      }
      const severity = f.severity ?? 'error';
      if (!told.has(f.line)) {
        told.add(f.line);
        const at = element('span', { class: severity });
        at.style.top = `calc(var(--line) * ${f.line - 1})`;
        this.#numbers.append(at);
      }
      // The characters before it, which nobody sees, have it stand below its own.
      const characters = Array.from(line);
      const from = Math.max(f.column - 1, 0);
      const length = f.length > 0 ? f.length : Math.max(characters.length - from, 1);
      const mark = element('div', {}, characters.slice(0, from).join(''),
        element('span', { class: severity }, characters.slice(from, from + length).join('') || ' '));
      mark.style.top = `calc(var(--line) * ${f.line - 1})`;
      this.#marks.append(mark);
    }
    this.#follow();
  }

  // Selects what a finding is about, or its line.
  show(f) {
    const [start, end] = this.#range(f);
    this.#text.focus();
    this.#text.setSelectionRange(start, end);
    const height = this.#text.scrollHeight / Math.max(this.#lines, 1);
    this.#text.scrollTop = Math.max(0, height * (f.line - 1) - this.#text.clientHeight / 3);
    this.#text.scrollLeft = 0;
  }

  // Writes the replacement of a finding, which undo takes back.
  replace(f) {
    this.show(f);
    if (!document.execCommand('insertText', false, f.replacement)) {
      const [start, end] = this.#range(f);
      this.#text.setRangeText(f.replacement, start, end, 'end');
      this.#text.dispatchEvent(new Event('input', { bubbles: true }));
    }
  }

  // The place of a finding in the text: its column and length count characters, and the text has UTF-16.
  #range(f) {
    const lines = this.value.split('\n');
    const before = lines.slice(0, Math.max(f.line - 1, 0)).reduce((sum, line) => sum + line.length + 1, 0);
    const characters = Array.from(lines[f.line - 1] ?? '');
    const from = Math.max((f.column ?? 0) - 1, 0);
    const to = f.length > 0 ? from + f.length : characters.length;
    const start = before + characters.slice(0, from).join('').length;
    return [start, start + characters.slice(from, to).join('').length];
  }

  // A new line begins below the one before it.
  #indent(event) {
    if (event.key !== 'Enter' || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const before = this.value.slice(0, this.#text.selectionStart);
    const blank = /^ *(- )?/.exec(before.slice(before.lastIndexOf('\n') + 1))[0].replace('-', ' ');
    if (blank && document.execCommand('insertText', false, `\n${blank}`)) {
      event.preventDefault();
    }
  }

  #count() {
    const lines = this.value.split('\n').length;
    if (lines !== this.#lines) {
      this.#lines = lines;
      this.#numbers.textContent = Array.from({ length: Math.min(lines, mostNumbers) }, (_, i) => i + 1).join('\n');
    }
    this.#color();
  }

  // Colors the lines that are visible.
  #color() {
    const height = parseFloat(getComputedStyle(this.#text).lineHeight);
    const lines = this.value.split('\n');
    const first = Math.min(Math.floor(this.#text.scrollTop / height), lines.length - 1);
    const last = Math.min(first + Math.ceil(this.#text.clientHeight / height) + 1, lines.length);
    const before = lines.slice(0, first).reduce((sum, line) => sum + line.length + 1, 0);
    let inside = insideAction(this.value, before);
    this.#colors.replaceChildren(...lines.slice(first, last).flatMap((line) => {
      const { nodes, inside: next } = highlight(line, inside);
      inside = next;
      return [...nodes, '\n'];
    }));
    this.#colors.style.transform = `translate(${-this.#text.scrollLeft}px, ${first * height - this.#text.scrollTop}px)`;
  }

  #follow() {
    this.#numbers.style.transform = `translateY(${-this.#text.scrollTop}px)`;
    this.#marks.style.transform = `translate(${-this.#text.scrollLeft}px, ${-this.#text.scrollTop}px)`;
  }
}
