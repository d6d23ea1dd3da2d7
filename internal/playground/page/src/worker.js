// Runs the program: the first message is the program itself, and each one after it a request. Each gets one message back.
import './wasm_exec.js';

self.onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    const go = new globalThis.Go();
    go.run(await WebAssembly.instantiate(data, go.importObject)).then(() => {
      throw new Error('the program has ended');
    });
    self.postMessage('');
    return;
  }
  self.postMessage(globalThis.templaterAnswer(data));
};
