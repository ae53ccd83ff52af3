#include "core/threads.hpp"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace rankhash {
namespace {

struct Job {
  const std::function<void(int64_t)>* task;
  int64_t n;
  int seats;  // threads that may still join; guarded by the pool's mutex
  std::atomic<int64_t> next{0};
  int active = 0;  // pool threads at work; guarded by the pool's mutex
  std::exception_ptr error;
  std::mutex error_mutex;

  void work() {
    for (int64_t i; (i = next.fetch_add(1)) < n;) try {
        (*task)(i);
      } catch (...) {
        next.store(n);
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
  }
};

class Pool {
 public:
  void run(Job& job, int helpers) {
    {
      std::lock_guard lock(mutex_);
      for (; n_threads_ < helpers; ++n_threads_) std::thread([this] { serve(); }).detach();
      job.seats = helpers;
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    job.work();
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    done_.wait(lock, [&] { return job.active == 0; });
  }

 private:
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

// Threads do not survive a fork: a child gets a pool of its own. Pools are never destroyed, so that a thread which
// still waits when the process ends finds its mutex.
Pool& pool() {
  static std::mutex mutex;
  static Pool* current = nullptr;
  static pid_t owner = 0;
  std::lock_guard lock(mutex);
  if (!current || owner != getpid()) current = new Pool, owner = getpid();
  return *current;
}

}  // namespace

void parallel_for(int64_t n, int n_threads, const std::function<void(int64_t)>& task) {
  if (n_threads > n) n_threads = static_cast<int>(n);
  Job job{&task, n, 0};
  if (n_threads <= 1)
    job.work();
  else
    pool().run(job, n_threads - 1);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace rankhash
