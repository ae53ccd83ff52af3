#include "core/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rankhash {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollInterval{kPollMilliseconds};

// The state that check_interrupt reads.
struct ThreadState {
  const std::atomic<bool>* stopped = nullptr;  // of the job that this thread works for
  bool (*poll)() = nullptr;                    // of the thread that called the core
  Clock::time_point next_poll;
};
thread_local ThreadState state;

bool polled_to_end() {
  if (!state.poll || Clock::now() < state.next_poll) return false;
  const bool end = state.poll();
  state.next_poll = Clock::now() + kPollInterval;
  return end;
}

struct Job {
  const std::function<void(int64_t)>& task;
  const int64_t n;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stopped{false};
  int seats = 0;   // threads that may still join; guarded by the pool's mutex
  int active = 0;  // pool threads at work; guarded by the pool's mutex
  std::exception_ptr error{};
  std::mutex error_mutex{};

  void work() {
    const std::atomic<bool>* const outer = std::exchange(state.stopped, &stopped);
    for (int64_t i; (i = next.fetch_add(1)) < n;) try {
        check_interrupt();
        task(i);
      } catch (...) {
        fail(std::current_exception());
      }
    state.stopped = outer;
  }

  void fail(std::exception_ptr failure) {
    next.store(n);
    std::lock_guard lock(error_mutex);
    if (!error) error = std::move(failure);
    stopped.store(true);  // after the error is stored, so that interruptions caused by it are not the first error
  }
};

class Pool {
 public:
  void run(Job& job, int helpers) {
    {
      std::lock_guard lock(mutex_);
      while (n_threads_ < helpers && start_thread()) ++n_threads_;
      job.seats = helpers;
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    job.work();
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    while (!done_.wait_for(lock, kPollInterval, [&] { return job.active == 0; })) {
      if (!state.poll) continue;
      lock.unlock();
      if (polled_to_end()) job.fail(std::make_exception_ptr(Interrupted{}));
      lock.lock();
    }
  }

 private:
  // False if the system cannot start another thread; the existing ones do the work.
  bool start_thread() {
    try {
      std::thread([this] { serve(); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      Job* job = jobs_.front();
      if (--job->seats == 0) jobs_.pop_front();
      ++job->active;
      lock.unlock();
      job->work();
      lock.lock();
      if (--job->active == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Job*> jobs_;
  int n_threads_ = 0;
};

// Threads do not survive a fork, during which another thread may hold the pool's mutex: a child process starts without
// a pool. Pools are never destroyed, so that the mutex of threads that still wait at the end of the process stays
// valid.
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
  Pool* found = current_pool.load();
  if (found) return *found;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { current_pool.store(nullptr); });
  static_cast<void>(registered);
  Pool* const made = new Pool;
  if (current_pool.compare_exchange_strong(found, made)) return *made;
  delete made;
  return *found;
}

int64_t most_threads() {
  static const int64_t n_cores = std::thread::hardware_concurrency();
  return kThreadsPerCore * std::max<int64_t>(1, n_cores);
}

}  // namespace

void check_interrupt() {
  if ((state.stopped && state.stopped->load(std::memory_order_relaxed)) || polled_to_end()) throw Interrupted{};
}

InterruptScope::InterruptScope(bool (*poll)()) : outer_(std::exchange(state.poll, poll)) {
  state.next_poll = Clock::now() + kPollInterval;
}
InterruptScope::~InterruptScope() { state.poll = outer_; }

void parallel_for(int64_t n, int n_threads, const std::function<void(int64_t)>& task) {
  const int64_t wanted = std::min<int64_t>({n, n_threads, most_threads()});
  Job job{task, n};
  if (wanted <= 1) job.work();
  else pool().run(job, static_cast<int>(wanted) - 1);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace rankhash
