// Runs the program: the first message is the program itself, and each one after it a request. Each gets one message back, or an error
// event where the program fails or ends.
import './wasm_exec.js';

// Not every browser makes an error event of a promise that is rejected.
self.addEventListener('unhandledrejection', ({ reason }) => {
  throw reason;
});

self.onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    const go = new globalThis.Go();
    go.run(await WebAssembly.instantiate(data, go.importObject)).then(() => {
      throw new Error('the program has ended');
    });
    self.postMessage('');
    return;
  }
  const answer = globalThis.templaterAnswer(data);
  if (answer !== undefined) { // as it is of a program that has ended
    self.postMessage(answer);
  }
};
