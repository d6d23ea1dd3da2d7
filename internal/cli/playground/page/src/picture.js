// Draws a parent with its entries, in the order in which they are made, and how their objects stand.
import { drawing, element } from './dom.js';

const box = { width: 210, line: 20, gap: 14, between: 60, most: 6 };

export function picture(tree) {
  const controller = tree.templateControllers[0];
  const entries = [...controller.children, ...(controller.related ?? []).map((e) => ({ ...e, related: true }))];
  const columns = columnsOf(controller.children);
  const children = drawing('g');
  const edges = drawing('g');
  const at = new Map();
  const heights = [];
  for (const e of entries) {
    const column = e.related ? 0 : 1 + columns.get(e.name);
    const lines = linesOf(e);
    const top = heights[column] ?? (e.related ? parentHeight + 3 * box.gap : 0);
    const height = box.line * (lines.length + 1) + 8;
    heights[column] = top + height + box.gap;
    const x = column * (box.width + box.between);
    const place = { x, y: top, height };
    at.set(e, place);
    children.append(group(place, `${e.related ? 'related: ' : ''}${e.name}`, lines, e.related ? 'related' : ''));
  }
  const root = { x: 0, y: 0, height: parentHeight };
  children.append(group(root, tree.parent.kind, [{ text: nameOf(tree.parent), state: controller.ready ? 'ready' : controller.reason }], 'parent'));
  for (const e of controller.children) {
    const needed = controller.children.filter((other) => e.dependsOn.includes(other.name));
    for (const from of needed.length > 0 ? needed.map((other) => at.get(other)) : [root]) {
      edges.append(edge(from, at.get(e), needed.length > 0));
    }
  }
  const width = Math.max(...heights.keys(), 0) * (box.width + box.between) + box.width;
  const height = Math.max(parentHeight, ...heights.filter((h) => h !== undefined));
  const svg = drawing('svg', { class: 'picture', role: 'img', 'aria-label': words(tree, entries), width: width + 4, height: height + 4, viewBox: `-2 -2 ${width + 4} ${height + 4}` }, edges, children);
  return element('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Graph' }, svg);
}

const parentHeight = box.line * 2 + 8;

// An entry is one column further than those that it waits for.
function columnsOf(entries) {
  const columns = new Map();
  const column = (name, above) => {
    if (!columns.has(name)) {
      const entry = entries.find((e) => e.name === name);
      const needed = (entry?.dependsOn ?? []).filter((n) => !above.includes(n));
      columns.set(name, needed.length === 0 ? 0 : 1 + Math.max(...needed.map((n) => column(n, [...above, name]))));
    }
    return columns.get(name);
  };
  entries.forEach((e) => column(e.name, [e.name]));
  return columns;
}

function linesOf(entry) {
  const lines = entry.objects.slice(0, box.most).map((o) => ({ text: `${o.kind} ${o.name}`, state: o.state ?? '' }));
  if (entry.objects.length > box.most) {
    lines.push({ text: `and ${entry.objects.length - box.most} more` });
  }
  return lines.length > 0 ? lines : [{ text: 'none' }];
}

function group({ x, y, height }, title, lines, kind) {
  const g = drawing('g', { class: `entry ${kind}`, transform: `translate(${x} ${y})` },
    drawing('rect', { width: box.width, height, rx: 6 }), drawing('text', { x: 10, y: 18, class: 'title' }, cut(title, 27)));
  lines.forEach(({ text, state }, i) => {
    const y = box.line * (i + 2) - 2;
    if (state !== undefined && state !== '') {
      g.append(drawing('circle', { cx: 14, cy: y - 4, r: 5, class: state === 'ready' ? 'ready' : 'unready' }));
    }
    g.append(drawing('text', { x: 26, y }, drawing('title', {}, state ? `${text}: ${state}` : text), cut(text, 25)));
  });
  return g;
}

function edge(from, to, waits) {
  const start = { x: from.x + box.width, y: from.y + from.height / 2 };
  const end = { x: to.x - 7, y: to.y + to.height / 2 };
  const bend = box.between / 2;
  return drawing('g', { class: waits ? 'edge waits' : 'edge' },
    drawing('path', { d: `M${start.x} ${start.y}C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}` }),
    drawing('path', { class: 'tip', d: `M${to.x} ${end.y}l-8 -4v8z` }));
}

function cut(text, most) {
  const characters = Array.from(text);
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}

function nameOf(o) {
  return o.namespace ? `${o.namespace}/${o.name}` : o.name;
}

// The picture for those who do not see it.
function words(tree, entries) {
  const parts = entries.map((e) => {
    const ready = e.objects.filter((o) => o.state === 'ready').length;
    const count = e.related ? `${e.objects.length} seen` : `${ready} of ${e.objects.length} ready`;
    return `${e.related ? 'related ' : ''}${e.name}: ${count}${e.dependsOn.length > 0 ? `, after ${e.dependsOn.join(' and ')}` : ''}`;
  });
  return `${tree.parent.kind} ${nameOf(tree.parent)} is ${tree.templateControllers[0].ready ? 'ready' : 'not ready'}. ${parts.join('; ')}.`.slice(0, 1000);
}
