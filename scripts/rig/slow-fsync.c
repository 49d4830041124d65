/* Makes every sync of a file take 10 ms longer, as on an SD card or a busy eMMC. Loaded by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

typedef int (*sync_function)(int);

static void wait_10_ms(void) {
  struct timespec delay = {0, 10 * 1000 * 1000};
  nanosleep(&delay, 0);
}

int fsync(int fd) {
  static sync_function real;
  if (!real) real = (sync_function)dlsym(RTLD_NEXT, "fsync");
  wait_10_ms();
  return real(fd);
}

int fdatasync(int fd) {
  static sync_function real;
  if (!real) real = (sync_function)dlsym(RTLD_NEXT, "fdatasync");
  wait_10_ms();
  return real(fd);
}
