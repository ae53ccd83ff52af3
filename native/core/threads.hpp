// A pool of threads shared by all calls, and the interruption of long calls.
#pragma once
#include <cstdint>
#include <functional>

namespace rankhash {

// Runs task(0) … task(n - 1) on at most n_threads threads, including the caller's, and at most kThreadsPerCore per
// core. Tasks are started in order, one by one. The first exception of a task is rethrown here after all started tasks
// have ended. Tasks may call parallel_for themselves.
constexpr int kThreadsPerCore = 4;
void parallel_for(int64_t n, int n_threads, const std::function<void(int64_t)>& task);

// Thrown by check_interrupt.
struct Interrupted {};

// Throws Interrupted if the job of this thread is to end: another of its tasks has failed, or `poll` of the calling
// thread returned true. Long tasks call it at least every few milliseconds.
void check_interrupt();

// During its lifetime, `poll` is called every kPollMilliseconds in calls from this thread; true ends them.
constexpr int kPollMilliseconds = 25;
class InterruptScope {
 public:
  explicit InterruptScope(bool (*poll)());
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;

 private:
  bool (*outer_)();
};

}  // namespace rankhash
