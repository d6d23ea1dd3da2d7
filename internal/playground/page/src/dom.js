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
