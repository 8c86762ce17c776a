// SPDX-License-Identifier: Apache-2.0
// The protocol, over sockets that are none: what the page sends, what it makes of what comes, how it returns.
"use strict";
const assert = require("assert");

module.exports = async ({ load, random }) => {
  const { Link, addressOf, serviceRequest } = await load("protocol.js");

  // A socket in the test's hand; timers too, so that nothing waits.
  class Socket {
    readyState = 1;
    protocol = "foxglove.sdk.v1";
    sent = [];
    send(data) {
      this.sent.push(typeof data === "string" ? JSON.parse(data) : data);
    }
    close() {}
    text(op) {
      this.onmessage({ data: typeof op === "string" ? op : JSON.stringify(op) });
    }
    bytes(list) {
      this.onmessage({ data: Uint8Array.from(list).buffer });
    }
    take() {
      return this.sent.splice(0);
    }
  }

  function rig() {
    const r = { sockets: [], timers: [], events: [] };
    const real = globalThis.setTimeout;
    globalThis.setTimeout = (f, ms) => r.timers.push({ f, ms });
    r.end = () => (globalThis.setTimeout = real);
    r.link = new Link("ws://host:1/?token=a", (url, protocols) => {
      const s = new Socket();
      Object.assign(s, { url, protocols });
      r.sockets.push(s);
      return s;
    });
    for (const type of ["status", "removeStatus", "time", "state"]) r.link.on(type, (v) => r.events.push([type, type === "state" ? v.state : v]));
    r.link.open();
    return r;
  }

  const channel = (id, topic) => ({ id, topic, encoding: "json", schemaName: "x", schema: "" });
  const messageTo = (id, ns, text) => [1, id, 0, 0, 0, ns & 255, ns >> 8, 0, 0, 0, 0, 0, 0, ...Buffer.from(text)];

  function greet(socket, channels, control = "true") {
    socket.text({ op: "serverInfo", name: "simd", capabilities: ["time"], metadata: { control, bridge: "fox" }, sessionId: "s" });
    socket.text({ op: "advertise", channels });
  }

  // run(rig), and restores the timers whatever happens
  const withRig = (run) => async () => {
    const r = rig();
    try {
      await run(r);
    } finally {
      r.end();
    }
  };

  return {
    "the address is the page's own, with its token"() {
      assert.strictEqual(addressOf({ protocol: "http:", host: "a:1", search: "" }), "ws://a:1/");
      assert.strictEqual(addressOf({ protocol: "https:", host: "[::1]:2", search: "?token=a%26b&x=1" }), "wss://[::1]:2/?token=a%26b");
    },

    "a topic is subscribed to once, when it is there, and until nobody wants it": withRig(({ link, sockets }) => {
      const got = [];
      const a = link.subscribe("/a", (m) => got.push(["a", Buffer.from(m.data).toString(), m.logNs]));
      const b = link.subscribe("/a", () => got.push(["b"]));
      const [s] = sockets;
      assert.deepStrictEqual(s.protocols, ["foxglove.sdk.v1", "foxglove.websocket.v1"]);
      greet(s, [channel(7, "/a"), channel(8, "/b")]);
      assert.deepStrictEqual(s.take(), [{ op: "subscribe", subscriptions: [{ id: 1, channelId: 7 }] }]);
      s.bytes(messageTo(1, 300, "hi"));
      s.bytes(messageTo(9, 300, "another's"));
      assert.deepStrictEqual(got, [["a", "hi", 300], ["b"]]);
      a();
      assert.deepStrictEqual(s.take(), []);
      b();
      b();
      assert.deepStrictEqual(s.take(), [{ op: "unsubscribe", subscriptionIds: [1] }]);
      s.bytes(messageTo(1, 300, "late"));
      assert.strictEqual(got.length, 2);
    }),

    "a lost connection returns, ever later, and subscribes by name though numbers have changed": withRig((r) => {
      r.link.subscribe("/a", () => {});
      greet(r.sockets[0], [channel(7, "/a")]);
      r.sockets[0].onclose({ code: 1006, reason: "" });
      const waits = [];
      for (let i = 1; i <= 7; i++) {
        assert.strictEqual(r.link.state, "lost");
        const { f, ms } = r.timers.pop();
        waits.push(ms);
        f();
        r.sockets[i].onclose({ code: 1006, reason: "" });
      }
      assert.deepStrictEqual(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
      r.timers.pop().f();
      const s = r.sockets[8];
      greet(s, [channel(3, "/b"), channel(4, "/a")]);
      assert.deepStrictEqual(s.take().map((o) => o.subscriptions[0].channelId), [4]);
      assert.strictEqual(r.link.state, "connected");
      // what the first socket still says does not count
      r.sockets[0].text({ op: "advertise", channels: [channel(99, "/ghost")] });
      assert(!r.link.channels.has("/ghost"));
      s.onclose({ code: 1001, reason: "simd ends" });
      assert.strictEqual(r.timers.pop().ms, 250);
      assert.match(r.link.why, /simd ends/);
    }),

    "a channel that goes and comes is subscribed to again": withRig(({ link, sockets: [s] }) => {
      link.subscribe("/a", () => {});
      greet(s, [channel(7, "/a")]);
      s.text({ op: "unadvertise", channelIds: [7] });
      s.text({ op: "advertise", channels: [channel(8, "/a")] });
      assert.deepStrictEqual(s.take().map((o) => [o.op, o.subscriptions[0].channelId]), [["subscribe", 7], ["subscribe", 8]]);
    }),

    "a topic under another number is the one to listen to": withRig(({ link, sockets: [s] }) => {
      link.subscribe("/a", () => {});
      greet(s, [channel(7, "/a")]);
      s.text({ op: "advertise", channels: [channel(8, "/a")] });
      s.text({ op: "unadvertise", channelIds: [7] });
      assert.deepStrictEqual(s.take().map((o) => [o.op, o.subscriptions?.[0].channelId ?? o.subscriptionIds[0]]), [["subscribe", 7], ["unsubscribe", 1], ["subscribe", 8]]);
      assert.strictEqual(link.channels.get("/a").id, 8);
    }),

    "a hidden page keeps only what may run in the background": withRig(({ link, sockets: [s] }) => {
      link.subscribe("/a", () => {});
      link.subscribe("/b", () => {}, { background: true });
      link.subscribe("/c", () => {}, { background: (c) => c.schemaName === "x" });
      greet(s, [channel(1, "/a"), channel(2, "/b"), channel(3, "/c")]);
      s.take();
      link.setHidden(true);
      assert.deepStrictEqual(s.take().map((o) => o.op), ["unsubscribe"]);
      assert.deepStrictEqual(link.subscribed.sort(), ["/b", "/c"]);
      link.setHidden(false);
      assert.deepStrictEqual(s.take().map((o) => o.subscriptions[0].channelId), [1]);
    }),

    "services are called by name; a reply, a failure and a loss each end the call": withRig(async ({ link, sockets: [s] }) => {
      greet(s, []);
      await assert.rejects(link.call("/simd/PauseClock", {}), /not offered/);
      s.text({ op: "advertiseServices", services: [{ id: 5, name: "/simd/PauseClock", type: "t" }] });
      const first = link.call("/simd/PauseClock", { wait: true });
      assert.deepStrictEqual([...s.take().pop()], [...serviceRequest(5, 1, "json", '{"wait":true}')]);
      s.bytes([3, 5, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, ...Buffer.from('json{"clock":{}}')]);
      assert.deepStrictEqual(await first, { clock: {} });
      const second = link.call("/simd/PauseClock", {});
      s.text({ op: "serviceCallFailure", serviceId: 5, callId: 2, message: "no driver" });
      await assert.rejects(second, /no driver/);
      const third = link.call("/simd/PauseClock", {});
      s.bytes([3, 5, 0, 0, 0, 3, 0, 0, 0, 255, 255, 255, 255, 1]);
      await assert.rejects(third, /malformed/);
      const fourth = link.call("/simd/PauseClock", {});
      s.onclose({ code: 1006, reason: "" });
      await assert.rejects(fourth, /lost/);
      await assert.rejects(link.call("/simd/PauseClock", {}), /not offered/);
    }),

    "time and status come through": withRig(({ events, sockets: [s] }) => {
      greet(s, []);
      s.bytes([2, 0x39, 0x30, 0, 0, 1, 0, 0, 0]);
      s.text({ op: "status", level: 1, message: "drops", id: "drops:/a" });
      s.text({ op: "removeStatus", statusIds: ["drops:/a"] });
      assert.deepStrictEqual(events.filter(([t]) => t !== "state"), [["time", 12345 + 4294967296], ["status", { level: 1, message: "drops", id: "drops:/a" }], ["removeStatus", ["drops:/a"]]]);
    }),

    "frames that are no protocol are counted and do no harm": withRig(({ link, sockets: [s] }) => {
      link.subscribe("/a", () => {
        throw new Error("a listener's own fault");
      });
      const { error } = console;
      console.error = () => {};
      try {
        greet(s, [channel(7, "/a")]);
        for (const t of ["", "{", "null", "5", "[]", '{"op":5}', '{"op":"advertise","channels":7}', '{"op":"advertise","channels":[null,5,{"id":-1,"topic":"x"},{"id":1.5,"topic":"x"},{"id":1,"topic":""},{"id":2}]}', '{"op":"unadvertise","channelIds":[{}]}', '{"op":"advertiseServices","services":[[]]}', '{"op":"serviceCallFailure"}', '{"op":"status"}', '{"op":"serverInfo","metadata":null,"capabilities":5}']) s.text(t);
        for (let i = 0; i < 3000; i++) s.bytes(Array.from({ length: random.below(30) }, (_, k) => (k === 0 ? random.below(6) : random.pick([0, 1, 7, 255]))));
        s.bytes(messageTo(1, 0, "x"));
      } finally {
        console.error = error;
      }
      assert.deepStrictEqual([...link.channels.keys()], ["/a"]);
      assert(link.invalid > 0);
      assert.strictEqual(link.state, "connected");
    }),
  };
};
