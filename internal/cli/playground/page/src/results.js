// Shows answers: what is wrong, and what became of each parent.
import { element, plural, update } from './dom.js';
import { picture } from './picture.js';

const mostOpen = 12; // children whose text is shown at once

// show fills the page with an answer. go is called with a place to show, apply with a finding whose replacement is to be written, and toggle
// with an entry whose children are to be as if ready, or not.
export function show(answer, { problems, outcome, summary }, { titles, ready, go, apply, toggle }) {
  const text = inWords(answer);
  if (summary.textContent !== text) {
    summary.textContent = text;
  }
  update(problems, listOf(answer, { titles, go, apply }));
  let open = 0;
  const opens = () => open++ < mostOpen;
  update(outcome, answer.results.map((result) => part(`${result.templateController} ${JSON.stringify(result.parent)}`, [result, ready.all, [...ready.entries]],
    (old) => parentOf(old, result, { ready, go, toggle, opens }))));
}

function inWords({ results, summary, problems }) {
  const wrong = [];
  if (problems.length > 0) wrong.push(plural(problems.length, 'problem'));
  if (summary.errors > 0) wrong.push(plural(summary.errors, 'error'));
  if (summary.warnings > 0) wrong.push(plural(summary.warnings, 'warning'));
  const made = results.map((r) => `${r.parent.kind} ${r.parent.name}: ${plural(r.children.length + r.left, 'child').replace('childs', 'children')}, ${r.ready.status === 'True' ? 'ready' : 'not ready'}`);
  if (made.length === 0 && wrong.length === 0) {
    made.push('Nothing to show: write a TemplateController, and a parent for it');
  }
  return [...made, ...(wrong.length > 0 ? wrong : ['no findings'])].join(' · ');
}

function listOf({ problems, findings }, { titles, go, apply }) {
  const found = [...problems.map((p) => ({ severity: 'error', ...p })), ...findings].slice(0, 100);
  if (found.length === 0) {
    return [];
  }
  return [
    part('title', '', () => element('h3', {}, 'Findings')),
    part('list', found, (old) => filled(old ?? element('ul', { class: 'findings' }), found.map((f) => part(JSON.stringify(f), '', () => findingOf(f, { titles, go, apply }))))),
  ];
}

function findingOf(f, { titles, go, apply }) {
  const item = element('li', { class: f.severity }, element('b', {}, `${f.severity}: `), f.message, ' ');
  if (f.line > 0) {
    item.append(element('button', { type: 'button', click: () => go(f) }, `${titles.get(f.text) ?? f.text}, line ${f.line}`), ' ');
  } else if (titles.has(f.text)) {
    item.append(`(${titles.get(f.text)}) `);
  }
  if (f.replacement && f.length > 0 && f.column > 0) {
    item.append(element('button', { type: 'button', class: 'apply', click: () => apply(f) }, `Write ${f.replacement}`), ' ');
  }
  if (f.page) {
    item.append(element('a', { href: f.page, title: f.title, rel: 'noreferrer noopener', target: '_blank' }, f.code));
  }
  return item;
}

function filled(node, items) {
  update(node, items);
  return node;
}

function parentOf(old, result, { ready, go, toggle, opens }) {
  const name = `${result.parent.kind} ${result.parent.name}`;
  const entries = result.tree.templateControllers[0].children.map((e) => e.name).filter((entry) => entry !== '');
  const waits = result.waits.filter((text) => text !== result.ready.message);
  return filled(old ?? element('section', { class: 'parent', 'aria-label': name }), [
    part('head', result.ready, () => headOf(name, result.ready)),
    waits.length > 0 && part('waits', waits, () => element('ul', { class: 'waits' }, ...waits.map((text) => element('li', {}, text)))),
    part('picture', result.tree, () => picture(result.tree)),
    entries.length > 0 && part('ready', [entries, ready.all, entries.map((e) => ready.entries.has(e))], () => element('fieldset', { class: 'ready' },
      element('legend', {}, 'Assume ready'), ...entries.map((entry) => element('label', {}, checkbox(entry, ready, toggle), ` ${entry}`)))),
    part('children', result.children, (there) => filled(there ?? element('div'), [
      part('title', '', () => element('h4', {}, 'Children')),
      result.children.length === 0 && part('none', '', () => element('p', {}, 'none')),
      ...result.children.map((child) => part(`${child.entry}/${child.kind}/${child.name}`, child, (shown) => childOf(shown, child, { go, opens }))),
    ].filter(Boolean))),
    result.left > 0 && part('left', result.left, () => element('p', {}, `and ${result.left} more that are not shown`)),
    part('status', result.status, () => element('div', {}, element('h4', {}, 'Status'),
      result.status === '' ? element('p', {}, 'templater does not write the status of this kind') : text(result.status, `Status of ${name}`))),
    part('writes', result.writes, () => element('div', {}, element('h4', {}, 'API requests, in order'),
      result.writes.length === 0 ? element('p', {}, 'none: everything is up to date')
        : element('ol', { class: 'writes' }, ...result.writes.slice(0, 200).map((w) => element('li', {}, w))))),
  ].filter(Boolean));
}

// part is an item of update: what it shows is as long the same as its data are.
function part(key, data, make) {
  return { key, text: JSON.stringify(data), make };
}

function headOf(name, { status, reason, message }) {
  const is = status === 'True';
  return element('div', {}, element('h3', {}, `${name} `, element('span', { class: is ? 'state ready' : 'state unready' }, is ? 'ready' : 'not ready')),
    element('p', {}, is ? message : `${reason}: ${message}`));
}

function childOf(old, child, { go, opens }) {
  const details = element('details', { class: 'child', open: old ? old.open : opens() },
    element('summary', {}, `${child.entry}: ${child.kind} ${child.name} `, element('span', { class: child.state === 'ready' ? 'state ready' : 'state unready' }, child.state)));
  if (child.from.line > 0) {
    details.append(element('button', { type: 'button', class: 'from', click: () => go(child.from) }, `Template line ${child.from.line}`));
  }
  details.append(text(child.yaml, `${child.kind} ${child.name}`));
  return details;
}

function checkbox(entry, { all, entries }, toggle) {
  return element('input', { type: 'checkbox', checked: all || entries.has(entry), disabled: all, change: (event) => toggle(entry, event.target.checked), 'data-entry': entry });
}

function text(content, label) {
  return element('pre', { class: 'yaml', tabindex: '0', role: 'group', 'aria-label': label }, content);
}
