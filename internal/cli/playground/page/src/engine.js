// The engine answers requests with templater, which runs in a worker, so that the page stays alive whatever a template does.

const mostTime = 2000; // milliseconds for an answer; templater counts work itself, this is for what it does not count
const mostFirst = 10000; // milliseconds for the first one, for which the browser compiles most of the program
const mostStart = 20000; // milliseconds for the program to begin, which reads the schemas of kinds

// Loads the program. Some file servers say that what they send is compressed, so that the browser has it unpacked already.
async function load() {
  const response = await fetch('playground.wasm.gz');
  if (!response.ok) {
    throw new Error(`the program cannot be loaded: the server answers ${response.status}`);
  }
  const packed = !(response.headers.get('Content-Encoding') ?? '').includes('gzip');
  const body = packed ? response.body.pipeThrough(new DecompressionStream('gzip')) : response.body;
  return WebAssembly.compileStreaming(new Response(body, { headers: { 'Content-Type': 'application/wasm' } }));
}

// One answer at a time: while one is awaited, the newest request waits, and those before it are dropped.
export class Engine {
  #module;
  #worker; // that answers
  #spare; // that has loaded its files, so that another one can answer without a network
  #ready;
  #next;
  #busy = false;
  #most = mostFirst; // for the next answer

  constructor() {
    this.#spare = spawn();
    this.#ready = load().then((module) => {
      this.#module = module;
      return this.#start();
    });
  }

  // Resolves once requests are answered.
  get ready() {
    return this.#ready;
  }

  // Resolves to the answer, or to undefined where a newer request has come. An error says in words for the user why there is none.
  ask(request) {
    return new Promise((resolve, reject) => {
      this.#next?.resolve(undefined);
      this.#next = { request, resolve, reject };
      this.#work();
    });
  }

  async #work() {
    if (this.#busy) {
      return;
    }
    this.#busy = true;
    try {
      await this.#ready;
    } catch (error) {
      this.#next?.reject(error);
      this.#next = undefined;
    }
    while (this.#next) {
      const { request, resolve, reject } = this.#next;
      this.#next = undefined;
      try {
        const most = this.#most;
        this.#most = mostTime;
        resolve(JSON.parse(await answer(this.#worker, JSON.stringify(request), most)));
      } catch (error) {
        this.#worker.terminate();
        this.#ready = this.#start();
        reject(error);
        await this.#ready.catch((fault) => this.#next?.reject(fault));
      }
    }
    this.#busy = false;
  }

  async #start() {
    this.#worker = this.#spare;
    this.#spare = spawn();
    await answer(this.#worker, this.#module, mostStart);
  }
}

function spawn() {
  const worker = new Worker('worker.js', { type: 'module' });
  worker.onerror = (event) => {
    event.preventDefault();
    worker.failed = true;
  };
  return worker;
}

// Sends a message to a worker, and resolves to what it sends back.
function answer(worker, message, time) {
  return new Promise((resolve, reject) => {
    if (worker.failed) {
      reject(new Error('templater cannot be started again without its files: load the page anew once the server answers'));
      return;
    }
    const timer = setTimeout(() => reject(new Error(`templater took longer than ${time / 1000} s, and was stopped: make loops shorter, or texts smaller`)), time);
    worker.onmessage = ({ data }) => {
      clearTimeout(timer);
      resolve(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      clearTimeout(timer);
      reject(new Error('templater has stopped, most likely for lack of memory: make texts smaller'));
    };
    worker.postMessage(message);
  });
}
