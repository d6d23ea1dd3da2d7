// Makes elements. Texts become text nodes and nothing else, whatever is in them.

export function element(name, attributes = {}, ...content) {
  return fill(document.createElement(name), attributes, content);
}

export function drawing(name, attributes = {}, ...content) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, content);
}

function fill(node, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      node.addEventListener(name, value);
    } else if (value === true) {
      node.setAttribute(name, '');
    } else if (value !== false && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...content);
  return node;
}

export function plural(n, word) {
  return n === 1 ? `1 ${word}` : `${n} ${word}s`;
}

const held = new WeakMap(); // what update has put into a node, by key

// Makes the content of a node what items say: each has a key, a text, and make, which returns its node, and is given the node that it had
// before. An item whose text is the same keeps its node where it stands, with its focus, and as far as it is scrolled.
export function update(node, items) {
  const before = held.get(node) ?? new Map();
  const now = new Map();
  for (const { key, text, make } of items) {
    const own = now.has(key) ? `${key} ${now.size}` : key;
    const old = before.get(own);
    now.set(own, old !== undefined && old.text === text ? old : { text, node: make(old?.node) });
  }
  held.set(node, now);
  const nodes = Array.from(now.values(), (item) => item.node);
  const stay = new Set(nodes);
  Array.from(node.childNodes).filter((old) => !stay.has(old)).forEach((old) => old.remove());
  nodes.forEach((each, i) => {
    const at = node.childNodes[i] ?? null;
    if (at !== each) {
      node.insertBefore(each, at);
    }
  });
}
