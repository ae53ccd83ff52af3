#include "bindings/interrupt.hpp"

#include <pthread.h>

#include <atomic>

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

// The exception stays with the thread until the call has returned.
bool signal_raised() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

Interruptible::Interruptible() : scope_(in_main_thread() ? signal_raised : nullptr) {}

void translate_interrupts() {
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Interrupted&) {
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace rankhash
