/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A component as a class, for C++17. Everything else is as in sim/component.h.
 *
 *     class Tracker : public sim::Component {
 *     public:
 *             int Init() override { ... }
 *             int Proc(const sim_message *const *m) override { ... }
 *     };
 *     SIM_CXX_COMPONENT(Tracker, &sim_Detected3DObjects_type, &sim_VehicleOdometry_type)
 *
 * Init and Proc return 0 or a negative errno, not Cyber's bool: `return false` would be success.
 *
 * Header only. An exception that a function of the class throws, the constructor and the destructor included, does not
 * leave it: that call fails with -EIO, and what() is the reason. Callbacks that a class passes to C functions (readers,
 * timers, services, parameters) run between C frames, which an exception must not cross: pass them as
 * Callback<&Tracker::OnMap>, with `this` as user, or do their work in Guard(); the same goes for threads that a class
 * starts. An exception that leaves a thread ends the process (std::terminate), and simhost(1) names the component. The
 * object, and what its constructor made, is destroyed after Shutdown; its parameters, readers, writers, timers and
 * threads must be gone by then.
 *
 * For a class that publishes with sim/publisher.h: sim_publisher_has_subscribers() is also false while another thread
 * is in a call of that publisher; ask in the thread that publishes.
 */
#ifndef SIM_COMPONENT_HPP
#define SIM_COMPONENT_HPP

#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include <sim/component.h>
#include <sim/param.h>

namespace sim
{

class Component
{
      public:
	Component() = default;
	Component(const Component &) = delete;
	Component &operator=(const Component &) = delete;
	virtual ~Component() noexcept(false) /* so that an exception of a derived destructor can be caught */
	{
	}

	virtual int Init()
	{
		return 0;
	}
	virtual int Proc(const sim_message *const *)
	{
		return 0;
	}
	virtual void Shutdown()
	{
	}

	/* Available from Init on; in the constructor these throw. */
	sim_component *handle() const
	{
		if (!handle_)
			throw std::logic_error("a constructor knows nothing of its component yet: ask in Init()");
		return handle_;
	}
	sim_node *node() const
	{
		return sim_component_node(handle());
	}
	const char *name() const
	{
		return sim_component_name(handle());
	}
	const char *config() const
	{
		return sim_component_config(handle());
	}
	int64_t now() const
	{
		return sim_component_now(handle());
	}
	/* The reader of input i, to observe its history; not in Init, as readers are made after it. */
	sim_node_reader *reader(uint32_t i) const
	{
		return sim_component_reader(handle(), i);
	}

	/*
	 * For callbacks and threads: returns what f returns (0, or a negative errno). If f throws, returns -EIO, and
	 * the reason, "component NAME: WHAT threw: ...", is in this thread's sim_why(), and in why if that is given,
	 * for the client that sets a parameter. From Init on.
	 */
	template <class F> int Guard(const char *what, F f, char *why = nullptr, size_t why_size = 0) const noexcept
	{
		bool threw = true;
		int r = Catch(handle_, what, [&] {
			int res = f();

			threw = false;
			return res;
		});

		if (threw && why && why_size)
			std::snprintf(why, why_size, "%s", sim_why());
		return r;
	}

      private:
	template <class C> friend struct ComponentGlue;

	template <class F> static int Catch(sim_component *c, const char *what, F f) noexcept
	{
		try {
			return f();
		} catch (const std::exception &e) {
			return sim_component_fail(c, -EIO, "%s threw: %s", what, e.what());
		} catch (...) {
			return sim_component_fail(c, -EIO, "%s threw something that is no std::exception", what);
		}
	}

	sim_component *handle_ = nullptr;
};

template <class... A> char *CallbackWhy(size_t *, A...)
{
	return nullptr;
}
/* A parameter's callback has room for a sentence. */
inline char *CallbackWhy(size_t *ret_size, const char *, const sim_param_value *, char *why, size_t size)
{
	*ret_size = size;
	return why;
}

template <class T> struct MemberCallback;
template <class C, class R, class... A> struct MemberCallback<R (C::*)(A...)> {
	template <R (C::*F)(A...)> static R call(void *user, A... a) noexcept
	{
		C *self = static_cast<C *>(user);
		size_t size = 0;
		char *why = CallbackWhy(&size, a...);

		if constexpr (std::is_void_v<R>) {
			int r = self->Guard("a callback", [&] {
				(self->*F)(a...);
				return 0;
			});

			if (r < 0)
				sim_component_failed(self->handle(), r);
		} else {
			return self->Guard(
				"a callback", [&] { return (self->*F)(a...); }, why, size);
		}
	}
};

/*
 * A member function as a C callback: sim_node_reader_create(node(), "/map", &sim_Map_type, nullptr,
 * sim::Callback<&Tracker::OnMap>, this, &map_). An exception becomes -EIO with its reason; if the callback returns
 * nothing, the component's failure (last_failure).
 */
template <auto F> inline constexpr auto Callback = &MemberCallback<decltype(F)>::template call<F>;

template <class C> struct ComponentGlue {
	static C *&object(void *self)
	{
		return *static_cast<C **>(self);
	}
	static Component *base(void *self) /* works whatever access C gives to its functions */
	{
		return object(self);
	}

	static int init(sim_component *c, void *self)
	{
		int r = Component::Catch(c, "the constructor", [&] {
			object(self) = new C;
			return 0;
		});

		if (r < 0)
			return r;
		base(self)->handle_ = c;
		return Component::Catch(c, "Init", [&] { return base(self)->Init(); });
	}
	static int proc(sim_component *c, void *self, const sim_message *const *m)
	{
		return Component::Catch(c, "Proc", [&] { return base(self)->Proc(m); });
	}
	static void shutdown(sim_component *c, void *self)
	{
		if (!object(self))
			return;
		Component::Catch(c, "Shutdown", [&] {
			base(self)->Shutdown();
			return 0;
		});
		Component::Catch(c, "the destructor", [&] {
			delete object(self);
			return 0;
		});
	}

	template <class... Types> static constexpr sim_component_class make(const char *name, Types... types)
	{
		static_assert(sizeof...(types) <= SIM_COMPONENT_INPUTS, "a component has four inputs at most");
		return { SIM_COMPONENT_ABI,
			 sizeof(sim_component_class),
			 name,
			 sizeof(C *),
			 sizeof...(types),
			 0,
			 { types... },
			 init,
			 proc,
			 shutdown };
	}
};

} // namespace sim

/* Exports class C, which is in no namespace, with the types of its inputs (none: a timer drives it). At file scope. */
#define SIM_CXX_COMPONENT(C, ...) \
	extern "C" SIM_API const struct sim_component_class sim_component_##C; \
	const struct sim_component_class sim_component_##C = sim::ComponentGlue<C>::make(#C, ##__VA_ARGS__);

#endif
