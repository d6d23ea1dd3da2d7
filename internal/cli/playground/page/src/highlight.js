// Colors of YAML with template actions. A line becomes spans, whose texts are that line; nothing is parsed beyond it.
import { element } from './dom.js';

const keywords = 'if|else|end|range|with|define|template|block|include|break|continue|and|or|not|eq|ne|lt|le|gt|ge';
const inAction = new RegExp(String.raw`(?<comment>/\*[^]*?(?:\*/|$))|(?<string>"(?:\\.|[^"\\])*"?|${'`[^`]*`?'})|(?<keyword>\b(?:${keywords})\b)|(?<field>[.$][\w.]*)|(?<number>\b\d[\w.]*)`, 'g');
const inYAML = /(?<comment>#.*)|(?<string>"(?:\\.|[^"\\])*"?|'[^']*'?)|(?<number>(?:-?\d[\w.]*|true|false|null)(?![^\s,\]}#]))|(?<rest>[^\s"'#,[\]{}][^\s,[\]{}]*)/g;
const beforeKey = /^ *(?:- +)*/;
const key = /(?:"(?:\\.|[^"\\])*"|'[^']*'|[^\s#"'[\]{},&*!|>%@`][^\s:]*)(?=:(?:\s|$))/y;
const longest = 1000; // characters of a line that have colors

// Reports whether a position of a text is inside a template action.
export function insideAction(text, at) {
  const opened = at === 0 ? -1 : text.lastIndexOf('{{', at - 1);
  return opened >= 0 && text.slice(opened, at).indexOf('}}') < 0;
}

// Returns the nodes of a line, and whether it ends inside an action.
export function highlight(line, inside) {
  const nodes = [];
  let at = 0;
  if (line.length > longest) {
    return { nodes: [line], inside: insideAction((inside ? '{{' : '') + line, line.length + (inside ? 2 : 0)) };
  }
  if (!inside) {
    at = beforeKey.exec(line)[0].length;
    key.lastIndex = at;
    nodes.push(line.slice(0, at));
    const [name] = key.exec(line) ?? [''];
    if (name !== '' && !name.includes('{{')) {
      nodes.push(element('span', { class: 'key' }, name));
      at += name.length;
    }
  }
  while (at < line.length) {
    const found = line.indexOf(inside ? '}}' : '{{', at);
    let end = found < 0 ? line.length : found;
    if (inside) {
      end = found < 0 ? line.length : found + 2;
      nodes.push(element('span', { class: 'action' }, ...parts(line.slice(at, end), inAction)));
    } else {
      nodes.push(...parts(line.slice(at, end), inYAML));
    }
    at = end;
    if (found < 0) {
      break;
    }
    if (!inside) {
      nodes.push(element('span', { class: 'action' }, '{{'));
      at += 2;
    }
    inside = !inside;
  }
  return { nodes: nodes.filter((node) => node !== ''), inside };
}

// Returns texts and spans; a class is the name of the group that matched.
function parts(text, pattern) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const [name] = Object.entries(match.groups).find(([, value]) => value !== undefined);
    if (name === 'rest') {
      continue;
    }
    nodes.push(text.slice(at, match.index), element('span', { class: name }, match[0]));
    at = match.index + match[0].length;
  }
  nodes.push(text.slice(at));
  return nodes.filter((node) => node !== '');
}
