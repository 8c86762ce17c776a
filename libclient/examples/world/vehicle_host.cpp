/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host in C++ around a physics object such as Chrono::Vehicle's ChWheeledVehicle, which advances on request and
 * reports the poses of the vehicle and its wheels. The class Vehicle is the interface that the host needs; Drive
 * implements it without a physics engine, so that this program runs by itself. For Chrono a class of a dozen lines
 * adapts it.
 *
 *     vehicle_host [HOST:PORT [SECONDS [DIR:NAME]]]
 *
 * DIR:NAME: by TLS, with keys of sim-world --make-keys.
 */
#include <sim/world.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Pose {
	std::array<double, 3> at{};
	std::array<double, 4> turn{ 1, 0, 0, 0 }; /* w x y z, as Chrono's ChQuaternion */
};

/* Interface of the physics. World axes: x east, y north, z up, as Chrono's ISO frame. */
class Vehicle
{
      public:
	virtual ~Vehicle() = default;
	virtual void Synchronize(double time) = 0; /* [s] updates driver and terrain */
	virtual void Advance(double step) = 0;     /* [s] */
	virtual Pose GetChassis() const = 0;
	virtual std::array<double, 3> GetVelocity() const = 0; /* [m/s] */
	virtual std::array<double, 3> GetSpin() const = 0;     /* [rad/s] */
	virtual std::vector<Pose> GetWheels() const = 0;       /* poses to the chassis; any number */
	virtual double GetSteering() const = 0;                /* [rad] at the wheels */
};

/* Another host's vehicle, as Chrono's ServerVehicle: bodies without physics. */
struct RemoteVehicle {
	Pose chassis;
	std::vector<Pose> wheels;
};

static void Check(int r)
{
	if (r < 0)
		throw std::runtime_error(sim_world_why());
}

/* One vehicle in a world, and the other vehicles that it sees. */
class Host
{
      public:
	Host(Vehicle &vehicle, const char *address, const char *keys) : vehicle_(vehicle)
	{
		sim_world_events events{};
		sim_world_options o{};

		events.enter = events.update = OnOther;
		events.leave = OnLeave;
		o.size = sizeof(o);
		o.address = address;
		o.keys = keys;
		o.name = "vehicle_host";
		o.flags = SIM_WORLD_NO_THREAD; /* callbacks come inside Step() */
		o.events = &events;
		o.user = this;
		Check(sim_world_connect(&o, &world_));
		Check(sim_world_wait(world_, -1, &tick_));
	}
	Host(const Host &) = delete;
	Host &operator=(const Host &) = delete;
	~Host()
	{
		sim_world_disconnect(world_);
	}

	/* Advances to the world's next tick, in steps of the physics; the last step ends at the tick. */
	void Step(double physics_step)
	{
		int64_t until = tick_.time_sim_ns + tick_.step_dur_ns;
		double left = static_cast<double>(tick_.step_dur_ns) / 1e9;
		int n = std::max(1, static_cast<int>(std::ceil(left / physics_step)));

		for (int i = 0; i < n; i++) {
			vehicle_.Synchronize(static_cast<double>(until) / 1e9 - left + left * i / n);
			vehicle_.Advance(left / n);
		}
		Put(until);
		Check(sim_world_step(world_, -1, &tick_));
	}

	double Time() const
	{
		return static_cast<double>(tick_.time_sim_ns) / 1e9;
	}
	const std::map<uint64_t, RemoteVehicle> &Others() const
	{
		return others_;
	}

      private:
	void Put(int64_t time_sim_ns)
	{
		const std::vector<Pose> wheels = vehicle_.GetWheels();
		const Pose chassis = vehicle_.GetChassis();
		const auto velocity = vehicle_.GetVelocity(), spin = vehicle_.GetSpin();
		std::vector<sim_world_part> parts(wheels.size());
		sim_world_vehicle v{};
		sim_world_object o{};

		for (size_t i = 0; i < wheels.size(); i++) {
			parts[i].kind = SIM_WORLD_WHEEL;
			std::copy(wheels[i].at.begin(), wheels[i].at.end(), parts[i].position);
			std::copy(wheels[i].turn.begin(), wheels[i].turn.end(), parts[i].rotation);
		}
		std::snprintf(v.shape.model, sizeof(v.shape.model), "vehicle_host");
		v.shape.size[0] = 5;
		v.shape.size[1] = 2;
		v.shape.size[2] = 1.6;
		v.shape.offset[2] = 0.8;
		v.steering = vehicle_.GetSteering();
		v.n_parts = parts.size();
		body_.resize(200 + 48 * parts.size());
		const int n = sim_world_vehicle_write(&v, parts.data(), body_.data(), body_.size());
		Check(n);
		o.id = 0;
		o.code = SIM_WORLD_VEHICLE;
		o.time_sim_ns = time_sim_ns;
		std::copy(chassis.at.begin(), chassis.at.end(), o.position);
		std::copy(chassis.turn.begin(), chassis.turn.end(), o.rotation);
		std::copy(velocity.begin(), velocity.end(), o.velocity);
		std::copy(spin.begin(), spin.end(), o.spin);
		o.body = body_.data();
		o.body_size = static_cast<size_t>(n);
		Check(sim_world_put(world_, &o));
	}

	static void OnOther(void *user, const sim_world_object *o)
	{
		std::array<sim_world_part, 16> parts;
		sim_world_vehicle v;

		if (o->code != SIM_WORLD_VEHICLE ||
		    sim_world_vehicle_read(o->body, o->body_size, &v, parts.data(), parts.size()) < 0)
			return;
		RemoteVehicle &other = static_cast<Host *>(user)->others_[o->id];
		std::copy_n(o->position, 3, other.chassis.at.begin());
		std::copy_n(o->rotation, 4, other.chassis.turn.begin());
		other.wheels.resize(std::min(v.n_parts, parts.size()));
		for (size_t i = 0; i < other.wheels.size(); i++) {
			std::copy_n(parts[i].position, 3, other.wheels[i].at.begin());
			std::copy_n(parts[i].rotation, 4, other.wheels[i].turn.begin());
		}
	}

	static void OnLeave(void *user, const sim_world_object *o)
	{
		static_cast<Host *>(user)->others_.erase(o->id);
	}

	Vehicle &vehicle_;
	sim_world *world_ = nullptr;
	sim_world_tick tick_{};
	std::map<uint64_t, RemoteVehicle> others_;
	std::vector<unsigned char> body_;
};

/* Six wheels on a circle, without a physics engine: stands for ChWheeledVehicle. */
class Drive : public Vehicle
{
      public:
	void Synchronize(double) override
	{
	}
	void Advance(double step) override
	{
		distance_ += speed * step;
	}
	Pose GetChassis() const override
	{
		const double angle = distance_ / radius, yaw = angle + M_PI / 2;
		Pose p;

		p.at = { radius * std::cos(angle), radius * std::sin(angle), 0.5 };
		p.turn = { std::cos(yaw / 2), 0, 0, std::sin(yaw / 2) };
		return p;
	}
	std::array<double, 3> GetVelocity() const override
	{
		const double yaw = distance_ / radius + M_PI / 2;

		return { speed * std::cos(yaw), speed * std::sin(yaw), 0 };
	}
	std::array<double, 3> GetSpin() const override
	{
		return { 0, 0, speed / radius };
	}
	std::vector<Pose> GetWheels() const override
	{
		std::vector<Pose> wheels(6);
		const double roll = distance_ / 0.5;

		for (size_t i = 0; i < wheels.size(); i++) {
			wheels[i].at = { 2.0 - 2.0 * static_cast<double>(i / 2), i % 2 ? -0.9 : 0.9, 0 };
			wheels[i].turn = { std::cos(roll / 2), 0, std::sin(roll / 2), 0 };
		}
		return wheels;
	}
	double GetSteering() const override
	{
		return std::atan(3.0 / radius);
	}

      private:
	static constexpr double radius = 30, speed = 8;
	double distance_ = 0;
};

int main(int argc, char **argv)
try {
	const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
	Drive drive;
	Host host(drive, argc > 1 ? argv[1] : nullptr, argc > 3 ? argv[3] : nullptr);
	double told = host.Time();

	while (!(seconds > 0) || host.Time() < seconds) {
		host.Step(0.002);
		if (std::floor(host.Time()) == std::floor(told))
			continue;
		told = host.Time();
		size_t wheels = 0;
		for (const auto &other : host.Others())
			wheels += other.second.wheels.size();
		std::printf("%.1f s: %zu other vehicles with %zu wheels\n", host.Time(), host.Others().size(), wheels);
		std::fflush(stdout);
	}
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "vehicle_host: %s\n", e.what());
	return 1;
}
