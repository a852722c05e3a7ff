/* A wall clock that is wrong: preloaded into a process, it adds CLOCK_AHEAD seconds to what the
 * kernel says of the time of day. Clocks that only measure are left alone, as in a real machine.
 *
 * The kernel waits by its own clock: who reckons by ours until when to wait would wait longer by all
 * that it is wrong, which no machine does. Who has reckoned by the kernel's own is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
    const char *given = getenv("CLOCK_AHEAD");
    return given ? atol(given) : 0;
}

int clock_gettime(clockid_t which, struct timespec *at) {
    long failed = syscall(SYS_clock_gettime, which, at);
    if (!failed && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) at->tv_sec += ahead();
    return (int)failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

static const struct timespec *truly(const struct timespec *until, struct timespec *mine) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    *mine = *until;
    if (until->tv_sec - now.tv_sec > ahead() / 2) mine->tv_sec -= ahead();
    return mine;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec mine;
    /* The plain name may mean the oldest of its versions, which has another kind of condition. */
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real) real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return real(cond, mutex, truly(until, &mine));
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict until) {
    static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    struct timespec mine;
    if (!real) real = dlsym(RTLD_NEXT, "cnd_timedwait");
    return real(cond, mutex, truly(until, &mine));
}
