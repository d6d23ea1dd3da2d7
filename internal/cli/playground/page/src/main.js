// The page: editors on one side, results on the other.
import { element } from './dom.js';
import { Editor } from './editor.js';
import { Engine } from './engine.js';
import { show } from './results.js';
import { pack, unpack } from './share.js';

const mostText = 1 << 20; // characters of a text of a link: templater takes no more, and browsers are slow with it
const mostLink = 1_000_000; // characters that all browsers take
const titles = new Map([
  ['controllers', 'TemplateController'], ['definitions', 'CRDs'], ['parents', 'Parent'], ['observed', 'Observed'], ['related', 'Related'],
]);
const $ = (id) => document.getElementById(id);
const page = { problems: $('problems'), outcome: $('outcome'), summary: $('summary') };
const engine = new Engine();
const editors = new Map();
const tabs = new Map();
const ready = new Set(); // entries whose children are as if ready
let examples = [];
let version = 0; // of texts and options
let answered = -1; // version that is shown

for (const [name, title] of titles) {
  const editor = new Editor(name, title, changed);
  const panel = element('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labeledby': `tab-${name}` }, editor.node);
  const tab = element('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, click: () => open(name), keydown: walk }, title);
  editors.set(name, editor);
  tabs.set(name, tab);
  $('tabs').append(tab);
  $('editors').append(panel);
}
open('controllers');

// Shows one of the texts.
function open(name) {
  for (const [other, tab] of tabs) {
    tab.setAttribute('aria-selected', String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    $(`panel-${other}`).hidden = other !== name;
  }
}

// Goes from tab to tab by the keys that tabs have.
function walk(event) {
  const all = [...tabs.keys()];
  const at = all.findIndex((name) => tabs.get(name) === event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined) {
    return;
  }
  event.preventDefault();
  const name = all[(to + all.length) % all.length];
  open(name);
  tabs.get(name).focus();
}

function request() {
  const texts = Object.fromEntries([...editors].map(([name, editor]) => [name, editor.value]));
  return { ...texts, allReady: $('allReady').checked, ready: [...ready], explain: $('explain').checked, time: $('time').value.trim() };
}

// Asks for an answer to what is there now, and shows it.
async function changed() {
  const mine = ++version;
  const began = performance.now();
  try {
    const answer = await engine.ask(request());
    if (answer === undefined || mine < answered) {
      return;
    }
    answered = mine;
    display(answer);
    document.documentElement.dataset.answered = String(mine);
    performance.measure('answer', { start: began, end: performance.now() });
  } catch (error) {
    answered = mine;
    display({ problems: [{ text: '', line: 0, column: 0, message: error.message }], findings: [], summary: { errors: 0, warnings: 0 }, results: [] });
    document.documentElement.dataset.answered = String(mine);
  }
}

function display(answer) {
  show(answer, page, {
    titles,
    ready: { all: $('allReady').checked, entries: ready },
    go: (place) => {
      open(place.text);
      editors.get(place.text).show(place);
    },
    apply: (finding) => {
      if (answered === version) { // else its place is another one by now
        open(finding.text);
        editors.get(finding.text).replace(finding);
      }
    },
    toggle: (entry, on) => {
      ready[on ? 'add' : 'delete'](entry);
      changed().then(() => document.querySelector(`input[data-entry="${CSS.escape(entry)}"]`)?.focus());
    },
  });
  for (const [name, title] of titles) {
    const wrong = [...answer.problems, ...answer.findings].filter((f) => f.text === name);
    editors.get(name).mark(wrong);
    tabs.get(name).textContent = wrong.length > 0 ? `${title} (${wrong.length})` : title;
  }
}

// Takes texts and options over; what is not there is empty.
function take(state) {
  for (const [name, editor] of editors) {
    editor.value = typeof state[name] === 'string' ? state[name] : '';
  }
  $('allReady').checked = state.allReady === true;
  $('explain').checked = state.explain === true;
  $('time').value = typeof state.time === 'string' ? state.time : '';
  ready.clear();
  (Array.isArray(state.ready) ? state.ready : []).filter((entry) => typeof entry === 'string').forEach((entry) => ready.add(entry));
  open('controllers');
  return changed();
}

function note(text) {
  $('note').textContent = text;
}

async function share() {
  const { origin, pathname, search } = location;
  const link = `${origin}${pathname}${search}#${await pack(request())}`;
  if (link.length > mostLink) {
    note(`The link would have ${link.length} characters, but browsers accept ${mostLink}: shorten the input.`);
    return;
  }
  history.replaceState(null, '', link);
  try {
    await navigator.clipboard.writeText(link);
    note('The link is copied. It contains your input.');
  } catch {
    note('The link is in the address bar. It contains your input.');
  }
}

// Takes over what the fragment of the address says: a shared state, or the name of an example.
async function fromAddress() {
  const named = /^#example=([\w-]+)$/.exec(location.hash)?.[1];
  const example = examples.find((e) => e.name === named);
  try {
    const state = example ?? await unpack(location.hash);
    if (state && [...titles.keys()].some((name) => state[name]?.length > mostText)) {
      note('The input in this link is too large for the playground.');
      return false;
    }
    if (state) {
      $('example').value = example ? example.name : '';
      await take(state);
      return true;
    }
  } catch {
    note('This link contains no input: it may have been cut off.');
  }
  return false;
}

async function begin() {
  examples = await fetch('examples.json').then((response) => (response.ok ? response.json() : [])).catch(() => []);
  const groups = Map.groupBy ? Map.groupBy(examples, (e) => e.group) : new Map([['', examples]]);
  $('example').append(element('option', { value: '' }, '(your own)'), ...[...groups].map(([group, all]) => element('optgroup', { label: group },
    ...all.map((e) => element('option', { value: e.name }, e.title)))));
  $('example').addEventListener('change', ({ target }) => {
    note('');
    const example = examples.find((e) => e.name === target.value);
    if (example) {
      history.replaceState(null, '', `#example=${example.name}`);
      take(example);
    }
  });
  if (!await fromAddress()) {
    $('example').value = examples[0]?.name ?? '';
    await take(examples[0] ?? {});
  }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

for (const id of ['allReady', 'explain', 'time']) {
  $(id).addEventListener('input', changed);
}
$('share').addEventListener('click', share);
window.addEventListener('hashchange', fromAddress);
begin();
