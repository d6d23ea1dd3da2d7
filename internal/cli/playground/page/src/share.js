// Texts and options in the fragment of a link: compressed, and never sent to a server.

const mostBytes = 8 * 1024 * 1024; // unpacked

export async function pack(state) {
  const packed = await through(new Blob([JSON.stringify(state)]), new CompressionStream('deflate-raw'), Infinity);
  let text = '';
  for (const byte of packed) {
    text += String.fromCharCode(byte);
  }
  return `v1=${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

// Returns what pack was given; undefined where a fragment holds no such thing.
export async function unpack(fragment) {
  const [version, text] = fragment.replace(/^#/, '').split('=');
  if (version !== 'v1' || !text) {
    return undefined;
  }
  const packed = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const state = JSON.parse(new TextDecoder().decode(await through(new Blob([packed]), new DecompressionStream('deflate-raw'), mostBytes)));
  return state !== null && typeof state === 'object' ? state : undefined;
}

async function through(blob, transform, most) {
  const parts = [];
  let size = 0;
  const reader = blob.stream().pipeThrough(transform).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error('more than a playground holds');
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
