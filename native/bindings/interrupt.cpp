#include "bindings/interrupt.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace nb = nanobind;

namespace rankhash {
namespace {

std::atomic<unsigned long> main_thread{0};  // 0: not known, as after a fork

bool in_main_thread() {
  if (!main_thread.load()) {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { main_thread.store(0); });
    static_cast<void>(registered);
    main_thread.store(nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident")));
  }
  return PyThread_get_thread_ident() == main_thread.load();
}

using Clock = std::chrono::steady_clock;

// Of this thread; the largest time point: no deadline.
thread_local Clock::time_point deadline = Clock::time_point::max();

bool is_late() { return Clock::now() >= deadline; }

// The exception stays with the thread until the call has returned.
bool signal_raised() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

bool late_or_signal() { return is_late() || signal_raised(); }

}  // namespace

Interruptible::Interruptible()
    : scope_(deadline == Clock::time_point::max() ? (in_main_thread() ? signal_raised : nullptr)
                                                  : (in_main_thread() ? late_or_signal : is_late)) {
  if (is_late()) throw Interrupted{};  // short calls are not polled
}

void set_deadline(double seconds) {
  constexpr double kLongest = 1e8;  // about three years; the clock's type ends after 292
  const std::chrono::duration<double> rest(std::clamp(seconds, 0.0, kLongest));
  deadline =
      seconds < kLongest ? Clock::now() + std::chrono::duration_cast<Clock::duration>(rest) : Clock::time_point::max();
}

void translate_interrupts() {
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Interrupted&) {
      if (!PyErr_Occurred()) PyErr_SetNone(is_late() ? PyExc_TimeoutError : PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace rankhash
