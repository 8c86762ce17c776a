// SPDX-License-Identifier: Apache-2.0
// node node.js MODULES NAME: a node of ROS 1 by @foxglove/ros1: says "hello" on /say, and prints what comes on /chat, up to "bye".
"use strict";
const path = require("path");
const { createRequire } = require("module");

const [modules, name] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { RosNode } = foreign("@foxglove/ros1");
const { getPid, TcpServerNode, TcpSocketNode } = foreign("@foxglove/ros1/nodejs");
const { HttpServerNodejs } = foreign("@foxglove/xmlrpc/nodejs");
const { parse } = foreign("@foxglove/rosmsg");

const type = "std_msgs/String", definition = "string data";

(async () => {
  const node = new RosNode({
    name,
    rosMasterUri: process.env.ROS_MASTER_URI,
    hostname: "127.0.0.1",
    pid: await getPid(),
    httpServer: new HttpServerNodejs(),
    tcpSocketCreate: TcpSocketNode.Create,
    tcpServer: await TcpServerNode.Listen({ host: "127.0.0.1" }),
  });
  await node.start();
  await node.advertise({
    topic: "/say",
    dataType: type,
    latching: true,
    messageDefinition: parse(definition),
    messageDefinitionText: definition,
    md5sum: "992ce8a1687cec8c8bd883ec73ca41d1",
  });
  await node.publish("/say", { data: "hello" });
  node.subscribe({ topic: "/chat", dataType: type }).on("message", (m) => {
    console.log(m.data);
    if (m.data === "bye") process.exit(0);
  });
  console.log("ready");
})();
