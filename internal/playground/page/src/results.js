// Shows answers: what is wrong, and what became of each parent.
import { element, plural } from './dom.js';
import { picture } from './picture.js';

const mostOpen = 12; // children whose text is shown at once

// show fills the page with an answer. go is called with a place to show, apply with a finding whose replacement is to be written, and toggle
// with an entry whose children are to be as if ready, or not.
export function show(answer, { problems, outcome, summary }, { titles, ready, go, apply, toggle }) {
  summary.textContent = inWords(answer);
  problems.replaceChildren(...listOf(answer, { titles, go, apply }));
  const closed = new Set(Array.from(outcome.querySelectorAll('details:not([open])'), (d) => d.dataset.key));
  const opened = new Set(Array.from(outcome.querySelectorAll('details[open]'), (d) => d.dataset.key));
  let open = 0;
  const isOpen = (key) => opened.has(key) || (!closed.has(key) && open++ < mostOpen);
  outcome.replaceChildren(...answer.results.map((result) => parentOf(result, { ready, go, toggle, isOpen })));
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
  const items = [...problems.map((p) => ({ severity: 'error', ...p })), ...findings].slice(0, 100);
  if (items.length === 0) {
    return [];
  }
  return [element('h3', {}, 'Findings'), element('ul', { class: 'findings' }, ...items.map((f) => {
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
  }))];
}

function parentOf(result, { ready, go, toggle, isOpen }) {
  const name = `${result.parent.kind} ${result.parent.name}`;
  const of = element('section', { class: 'parent', 'aria-label': name },
    element('h3', {}, `${name} `, element('span', { class: result.ready.status === 'True' ? 'state ready' : 'state unready' }, result.ready.status === 'True' ? 'ready' : 'not ready')),
    element('p', {}, result.ready.status === 'True' ? result.ready.message : `${result.ready.reason}: ${result.ready.message}`));
  const waits = result.waits.filter((text) => text !== result.ready.message);
  if (waits.length > 0) {
    of.append(element('ul', { class: 'waits' }, ...waits.map((text) => element('li', {}, text))));
  }
  of.append(picture(result.tree));
  const entries = result.tree.templateControllers[0].children.map((e) => e.name).filter((entry) => entry !== '');
  if (entries.length > 0) {
    of.append(element('fieldset', { class: 'ready' }, element('legend', {}, 'As if ready'),
      ...entries.map((entry) => element('label', {}, checkbox(entry, ready, toggle), ` ${entry}`))));
  }
  of.append(element('h4', {}, 'Children'));
  if (result.children.length === 0) {
    of.append(element('p', {}, 'none'));
  }
  for (const child of result.children) {
    const key = `${name}/${child.entry}/${child.kind}/${child.name}`;
    const summary = element('summary', {}, `${child.entry}: ${child.kind} ${child.name} `,
      element('span', { class: child.state === 'ready' ? 'state ready' : 'state unready' }, child.state));
    const details = element('details', { class: 'child', open: isOpen(key) }, summary);
    details.dataset.key = key;
    if (child.from.line > 0) {
      details.append(element('button', { type: 'button', class: 'from', click: () => go(child.from) }, `Written at line ${child.from.line}`));
    }
    details.append(text(child.yaml, `${child.kind} ${child.name}`));
    of.append(details);
  }
  if (result.left > 0) {
    of.append(element('p', {}, `and ${result.left} more, which are not shown`));
  }
  of.append(element('h4', {}, 'Status'));
  of.append(result.status === '' ? element('p', {}, 'templater does not write the status of this kind') : text(result.status, `Status of ${name}`));
  of.append(element('h4', {}, 'What templater does, in order'), result.writes.length === 0 ? element('p', {}, 'nothing: all is as it should be')
    : element('ol', { class: 'writes' }, ...result.writes.slice(0, 200).map((w) => element('li', {}, w))));
  return of;
}

function checkbox(entry, { all, entries }, toggle) {
  return element('input', { type: 'checkbox', checked: all || entries.has(entry), disabled: all, change: (event) => toggle(entry, event.target.checked), 'data-entry': entry });
}

function text(content, label) {
  return element('pre', { class: 'yaml', tabindex: '0', role: 'group', 'aria-label': label }, content);
}
