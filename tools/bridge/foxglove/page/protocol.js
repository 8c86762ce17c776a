// SPDX-License-Identifier: Apache-2.0
// The Foxglove WebSocket protocol from the client's side: one connection that returns by itself, and subscriptions by
// topic name, because the numbers of channels change with each connection. No DOM in here.

const PROTOCOLS = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 5000;

const OP_MESSAGE = 1;
const OP_TIME = 2;
const OP_SERVICE = 3;

const HEADER_MESSAGE = 13; // opcode, subscription, log time
const HEADER_SERVICE = 13; // opcode, service, call, length of the encoding's name

const isId = (v) => Number.isInteger(v) && v >= 0 && v <= 0xffffffff;
const isName = (v) => typeof v === "string" && v.length > 0;
const list = (v) => (Array.isArray(v) ? v.filter((x) => x !== null && typeof x === "object") : []);
const numbers = (v) => (Array.isArray(v) ? v.filter(isId) : []);

// Nanoseconds as a double: exact to 2^53, that is for 104 days of simulated time; after 1970 to 256 ns.
const readNs = (view, at) => view.getUint32(at, true) + view.getUint32(at + 4, true) * 4294967296;

// The address of the server that this page came from, with the page's own token.
export function addressOf(location) {
  const token = new URLSearchParams(location.search).get("token");
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/${token === null ? "" : `?token=${encodeURIComponent(token)}`}`;
}

// Events: state, server, channels, services, time, status, removeStatus. A listener gets one argument.
export class Link {
  state = "connecting"; // "connecting", "connected", "lost", "closed"
  why = ""; // sentence beside the state
  server = null; // the last serverInfo
  channels = new Map(); // topic -> {id, topic, encoding, schemaName, schema, schemaEncoding}
  services = new Map(); // name -> {id, name, type}
  received = 0; // bytes on this page's connections
  lastData = 0; // performance.now() of the last frame
  invalid = 0; // frames that were not understood

  #url;
  #ws = null;
  #listeners = new Map();
  #topics = new Map(); // channel id -> topic
  #wanted = new Map(); // topic -> {topic, handlers, id, channelId}; id 0: not subscribed
  #subscriptions = new Map(); // subscription id -> entry of #wanted
  #calls = new Map(); // call id -> {resolve, reject}
  #lastId = 0;
  #lastCall = 0;
  #backoff = BACKOFF_MIN_MS;
  #retry = 0;
  #hidden = false;
  #makeSocket;

  constructor(url, makeSocket = (u, p) => new WebSocket(u, p)) {
    this.#url = url;
    this.#makeSocket = makeSocket;
  }

  on(type, listener) {
    if (!this.#listeners.has(type)) this.#listeners.set(type, new Set());
    this.#listeners.get(type).add(listener);
    return () => this.#listeners.get(type).delete(listener);
  }

  #emit(type, value) {
    for (const listener of this.#listeners.get(type) ?? []) guard(listener, value);
  }

  #setState(state, why) {
    this.state = state;
    this.why = why;
    this.#emit("state", this);
  }

  // ---- connection ----

  open() {
    clearTimeout(this.#retry);
    this.#setState("connecting", `connecting to ${hostOf(this.#url)}`);
    let ws;
    try {
      ws = this.#makeSocket(this.#url, PROTOCOLS);
    } catch (e) {
      this.#lose(String(e.message));
      return;
    }
    this.#ws = ws;
    ws.binaryType = "arraybuffer";
    ws.onmessage = (e) => this.#ws === ws && this.#frame(e.data);
    ws.onclose = (e) => this.#ws === ws && this.#lose(e.reason || (e.code === 1006 ? "" : `code ${e.code}`));
  }

  close() {
    clearTimeout(this.#retry);
    const ws = this.#ws;
    this.#forget("the page has closed the connection");
    ws?.close();
    this.#setState("closed", "closed");
  }

  #lose(reason) {
    const wait = this.#backoff;
    const before = this.state === "connected" ? "connection lost" : `no connection to ${hostOf(this.#url)}`;
    this.#forget("the connection was lost");
    this.#backoff = Math.min(wait * 2, BACKOFF_MAX_MS);
    this.#retry = setTimeout(() => this.open(), wait);
    this.#setState("lost", `${before}${reason ? ` (${reason})` : ""}; next try in ${(wait / 1000).toFixed(2)} s`);
  }

  // What belonged to the connection; what the page wants stays.
  #forget(why) {
    this.#ws = null;
    this.state = "lost"; // before anybody sees that the channels are gone
    for (const call of this.#calls.values()) call.reject(Object.assign(new Error(why), { lost: true }));
    this.#calls.clear();
    this.#subscriptions.clear();
    for (const entry of this.#wanted.values()) entry.id = 0;
    this.#topics.clear();
    this.channels.clear();
    this.services.clear();
    this.#emit("channels", this.channels);
    this.#emit("services", this.services);
  }

  #send(value) {
    if (this.#ws?.readyState === 1) this.#ws.send(JSON.stringify(value));
  }

  // ---- subscriptions ----

  // handler({topic, channel, logNs, data}) for each message; data is a Uint8Array that nobody else writes to.
  // background: also while the page is hidden, a boolean or a function of the channel. Returns a function that ends it.
  subscribe(topic, handler, { background = false } = {}) {
    if (!this.#wanted.has(topic)) this.#wanted.set(topic, { topic, handlers: new Map(), id: 0, channelId: 0 });
    const entry = this.#wanted.get(topic);
    const key = Symbol(topic);
    entry.handlers.set(key, { handler, background });
    this.#sync(entry);
    return () => {
      if (!entry.handlers.delete(key)) return;
      this.#sync(entry);
      if (entry.handlers.size === 0 && this.#wanted.get(topic) === entry) this.#wanted.delete(topic);
    };
  }

  // What is subscribed now, for the page's own display.
  get subscribed() {
    return [...this.#subscriptions.values()].map((entry) => entry.topic);
  }

  setHidden(hidden) {
    this.#hidden = hidden;
    for (const entry of this.#wanted.values()) this.#sync(entry);
  }

  #sync(entry) {
    const channel = this.channels.get(entry.topic);
    const here = (h) => !this.#hidden || (typeof h.background === "function" ? channel && h.background(channel) : h.background);
    const wanted = [...entry.handlers.values()].some(here);
    if (entry.id && (!wanted || !channel || channel.id !== entry.channelId)) this.#unsubscribe(entry);
    if (!entry.id && wanted && channel) this.#subscribe(entry, channel);
  }

  #subscribe(entry, channel) {
    entry.id = ++this.#lastId;
    entry.channelId = channel.id;
    this.#subscriptions.set(entry.id, entry);
    this.#send({ op: "subscribe", subscriptions: [{ id: entry.id, channelId: channel.id }] });
  }

  #unsubscribe(entry) {
    this.#subscriptions.delete(entry.id);
    // a channel that was withdrawn took its subscription along
    if (this.#topics.has(entry.channelId)) this.#send({ op: "unsubscribe", subscriptionIds: [entry.id] });
    entry.id = 0;
  }

  // ---- services ----

  // Call with an object; resolves with the reply's, rejects with an Error whose message is a sentence; with the member
  // "lost" if the connection went before the answer.
  call(name, request) {
    const service = this.services.get(name);
    if (!service) return Promise.reject(new Error(`${name} is not offered on this connection`));
    const id = (this.#lastCall = (this.#lastCall + 1) % 0xffffffff);
    this.#ws.send(serviceRequest(service.id, id, "json", JSON.stringify(request)));
    return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
  }

  #takeCall(id) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  // ---- what comes ----

  #frame(data) {
    this.lastData = performance.now();
    try {
      if (typeof data === "string") {
        this.received += data.length;
        this.#text(JSON.parse(data));
      } else {
        this.received += data.byteLength;
        this.#binary(data);
      }
    } catch (e) {
      this.invalid++;
      if (this.invalid <= 20) this.#emit("status", { level: 1, message: `a frame of the server is malformed: ${e.message}` });
    }
  }

  #text(op) {
    switch (op?.op) {
      case "serverInfo":
        return this.#serverInfo(op);
      case "advertise":
        return this.#advertise(list(op.channels));
      case "unadvertise":
        return this.#unadvertise(numbers(op.channelIds));
      case "advertiseServices":
        return this.#advertiseServices(list(op.services));
      case "unadvertiseServices":
        return this.#unadvertiseServices(numbers(op.serviceIds));
      case "serviceCallFailure":
        return this.#takeCall(op.callId)?.reject(new Error(String(op.message ?? "the call failed")));
      case "status":
        return this.#emit("status", { level: Number(op.level) || 0, message: String(op.message ?? ""), id: op.id });
      case "removeStatus":
        return this.#emit("removeStatus", Array.isArray(op.statusIds) ? op.statusIds.map(String) : []);
    }
  }

  #serverInfo(op) {
    this.#backoff = BACKOFF_MIN_MS;
    this.server = {
      name: String(op.name ?? ""),
      capabilities: Array.isArray(op.capabilities) ? op.capabilities.map(String) : [],
      metadata: op.metadata !== null && typeof op.metadata === "object" ? op.metadata : {},
      sessionId: String(op.sessionId ?? ""),
    };
    this.#emit("server", this.server);
    this.#setState("connected", `connected to ${hostOf(this.#url)}, ${this.#ws.protocol}`);
  }

  #advertise(channels) {
    for (const c of channels) {
      if (!isId(c.id) || !isName(c.topic)) continue;
      const channel = { id: c.id, topic: c.topic };
      for (const key of ["encoding", "schemaName", "schema", "schemaEncoding"]) channel[key] = String(c[key] ?? "");
      this.#topics.set(c.id, c.topic);
      this.channels.set(c.topic, channel);
      if (this.#wanted.has(c.topic)) this.#sync(this.#wanted.get(c.topic));
    }
    this.#emit("channels", this.channels);
  }

  #unadvertise(ids) {
    for (const id of ids) {
      const topic = this.#topics.get(id);
      this.#topics.delete(id);
      if (this.channels.get(topic)?.id !== id) continue;
      this.channels.delete(topic);
      if (this.#wanted.has(topic)) this.#sync(this.#wanted.get(topic));
    }
    this.#emit("channels", this.channels);
  }

  #advertiseServices(services) {
    for (const s of services)
      if (isId(s.id) && isName(s.name)) this.services.set(s.name, { id: s.id, name: s.name, type: String(s.type ?? "") });
    this.#emit("services", this.services);
  }

  #unadvertiseServices(ids) {
    for (const [name, s] of this.services) if (ids.includes(s.id)) this.services.delete(name);
    this.#emit("services", this.services);
  }

  #binary(buffer) {
    const view = new DataView(buffer);
    switch (view.getUint8(0)) {
      case OP_MESSAGE:
        return this.#message(buffer, view);
      case OP_TIME:
        return this.#emit("time", readNs(view, 1));
      case OP_SERVICE:
        return this.#serviceResponse(buffer, view);
    }
  }

  #message(buffer, view) {
    const entry = this.#subscriptions.get(view.getUint32(1, true));
    const logNs = readNs(view, 5);
    if (!entry) return; // one that was on its way when the page unsubscribed
    const channel = this.channels.get(entry.topic);
    const message = { topic: entry.topic, channel, logNs, data: new Uint8Array(buffer, HEADER_MESSAGE) };
    for (const { handler } of entry.handlers.values()) guard(handler, message);
  }

  #serviceResponse(buffer, view) {
    const call = this.#takeCall(view.getUint32(5, true));
    const length = view.getUint32(9, true);
    if (!call) return;
    try {
      if (length > buffer.byteLength - HEADER_SERVICE) throw new Error("its length is wrong");
      const text = new TextDecoder().decode(new Uint8Array(buffer, HEADER_SERVICE + length));
      call.resolve(text === "" ? {} : JSON.parse(text));
    } catch (e) {
      call.reject(new Error(`the reply is malformed: ${e.message}`));
    }
  }
}

export function serviceRequest(service, call, encoding, text) {
  const name = new TextEncoder().encode(encoding);
  const body = new TextEncoder().encode(text);
  const out = new Uint8Array(HEADER_SERVICE + name.length + body.length);
  const view = new DataView(out.buffer);
  view.setUint8(0, 2);
  view.setUint32(1, service, true);
  view.setUint32(5, call, true);
  view.setUint32(9, name.length, true);
  out.set(name, HEADER_SERVICE);
  out.set(body, HEADER_SERVICE + name.length);
  return out;
}

function hostOf(url) {
  return url.replace(/^wss?:\/\//, "").replace(/\/.*$/, "");
}

// One listener that throws must not keep the others from their message.
function guard(listener, value) {
  try {
    listener(value);
  } catch (e) {
    console.error(e);
  }
}
