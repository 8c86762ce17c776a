// SPDX-License-Identifier: Apache-2.0
// node roslib.mjs MODULES URL COMPRESSION: a client of a rosbridge server by roslib. It prints what comes on /imu, answers that with a command on
// /cmd, calls /lights twice, and offers /lamp until that is switched off.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, url, compression] = process.argv.slice(2);
const { Ros, Service, Topic } = await import(
  pathToFileURL(path.resolve(modules, "node_modules/roslib/dist/RosLib.js")));

const ros = new Ros({ url });
const say = (...words) => console.log(words.join(" "));
ros.on("error", (e) => say("error", e.message ?? e));

const lamp = new Service({ ros, name: "/lamp", serviceType: "std_srvs/srv/SetBool" });
await lamp.advertise((request, response) => {
  if (!request.data) {
    setImmediate(() => ros.close());
    return false;
  }
  response.success = true;
  response.message = "caf\u00e9 \"on\"";
  return true;
});

const cmd = new Topic({ ros, name: "/cmd", messageType: "lgsvl_msgs/msg/VehicleControlData" });
const imu = new Topic({ ros, name: "/imu", messageType: "sensor_msgs/msg/Imu", compression });
imu.subscribe((m) => {
  const stamp = m.header.stamp;
  say("imu", m.header.frame_id, stamp.sec, stamp.nanosec, m.angular_velocity.z, m.linear_acceleration_covariance.length);
  cmd.publish({ acceleration_pct: 0.25, target_gear: 1 });
});

const lights = new Service({ ros, name: "/lights", serviceType: "std_srvs/srv/SetBool" });
const call = (data) => new Promise((done) =>
  lights.callService({ data }, (a) => done(["answer", a.success, a.message]), (why) => done(["failed", why.message])));
say(...(await call(true)));
say(...(await call(false)));
