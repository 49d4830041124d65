/*
 * Records, in order and with their bytes, all changes a process makes to the files of one folder, so that the content
 * of a disk after a power cut can be computed afterwards. Loaded by LD_PRELOAD; log.ts reads the records.
 *
 * TORTURE_FOLDER  the folder, an absolute path without links; only files directly in it are recorded
 * TORTURE_LOG     the file to write the records to, outside the folder
 * TORTURE_KILL_AT the process is killed after recording that many changes, before it makes the last; 0 for never
 *
 * Each record is one write(), which survives a SIGKILL of the process. A change is recorded before it is made (only the
 * opening of a file, after it) and both under one lock, so after a kill the log and the files are at most one change
 * apart. Untracked changes (mapped writes, duplicated descriptors, copy_file_range) show as a difference between the
 * files of the killed process and the log, which the caller compares. Files ending in -shm are omitted: SQLite maps
 * them and recreates them from the log at the first connection
 * (https://sqlite.org/walformat.html#the_wal_index_file_format).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FDS 65536
#define EXPORT __attribute__((visibility("default")))

/* Fixed part of a record; the name and then the data follow. */
struct record {
  uint8_t kind;
  uint8_t unused[3];
  int32_t fd;
  uint64_t value; /* offset, size, flags or number of a sync */
  uint32_t name_length;
  uint32_t data_length;
};

enum { CREATES = 1, TRUNCATES = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char is_tracked[MAX_FDS];
static uint64_t syncs;
static uint64_t changes;
static uint64_t kill_at;
static const char *folder;
static size_t folder_length;
static int log_fd = -1;

static void *real(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

#define REAL(type, name) \
  static type function; \
  if (!function) function = (type)real(name)

typedef int (*open_function)(const char *, int, ...);
typedef int (*fd_function)(int);
typedef int (*path_function)(const char *);
typedef ssize_t (*pwrite_function)(int, const void *, size_t, off_t);
typedef ssize_t (*write_function)(int, const void *, size_t);
typedef int (*truncate_function)(int, off_t);

static void append(const void *bytes, size_t length) {
  REAL(write_function, "write");
  /* an incomplete log would give a wrong disk: end the process */
  if (function(log_fd, bytes, length) != (ssize_t)length) abort();
}

static void record(char kind, int fd, uint64_t value, const char *name, const void *data, size_t length) {
  static unsigned char *buffer;
  static size_t capacity;
  struct record head = {(uint8_t)kind, {0}, fd, value, (uint32_t)strlen(name), (uint32_t)length};
  size_t total = sizeof head + head.name_length + length;
  if (total > capacity) {
    capacity = total * 2;
    buffer = realloc(buffer, capacity);
    if (!buffer) abort();
  }
  memcpy(buffer, &head, sizeof head);
  memcpy(buffer + sizeof head, name, head.name_length);
  if (length > 0) memcpy(buffer + sizeof head + head.name_length, data, length);
  append(buffer, total);
  if (++changes == kill_at) kill(getpid(), SIGKILL);
}

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("TORTURE_LOG");
  const char *at = getenv("TORTURE_KILL_AT");
  if (at) kill_at = strtoull(at, NULL, 10);
  folder = getenv("TORTURE_FOLDER");
  if (!log || !folder) return;
  folder_length = strlen(folder);
  REAL(open_function, "open");
  log_fd = function(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) abort();
}

/* Returns the name in the folder, "" for the folder itself, NULL for an untracked path. */
static const char *name_of(const char *path) {
  if (log_fd < 0 || !path || strncmp(path, folder, folder_length) != 0) return NULL;
  const char *rest = path + folder_length;
  if (*rest == 0) return rest;
  if (*rest != '/') return NULL;
  rest++;
  size_t length = strlen(rest);
  if (length >= 4 && strcmp(rest + length - 4, "-shm") == 0) return NULL;
  return rest;
}

static int tracks(int fd) { return fd >= 0 && fd < MAX_FDS && is_tracked[fd]; }

static int do_open(open_function function, const char *path, int flags, mode_t mode) {
  const char *name = name_of(path);
  if (!name) return function(path, flags, mode);
  pthread_mutex_lock(&lock);
  int fd = function(path, flags, mode);
  int error = errno;
  if (fd >= MAX_FDS) abort();
  if (fd >= 0) {
    is_tracked[fd] = 1;
    record('o', fd, (flags & O_CREAT ? CREATES : 0) | (flags & O_TRUNC ? TRUNCATES : 0), name, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

static mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name) \
  EXPORT int name(const char *path, int flags, ...) { \
    REAL(open_function, #name); \
    va_list arguments; \
    va_start(arguments, flags); \
    mode_t mode = mode_of(flags, arguments); \
    va_end(arguments); \
    return do_open(function, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

EXPORT int close(int fd) {
  REAL(fd_function, "close");
  if (!tracks(fd)) return function(fd);
  pthread_mutex_lock(&lock);
  is_tracked[fd] = 0;
  record('c', fd, 0, "", NULL, 0);
  int result = function(fd);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

/*
 * libuv closes files by syscall(SYS_close), so fs.close() gets here (uv__close_nocancel in
 * https://github.com/libuv/libuv/blob/v1.x/src/unix/core.c). If missed, the next socket of that number would count as
 * the file.
 */
EXPORT long syscall(long number, ...) {
  static long (*function)(long, ...);
  if (!function) function = (long (*)(long, ...))real("syscall");
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
  va_end(arguments);
  return number == SYS_close ? close((int)a[0]) : function(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static ssize_t do_pwrite(pwrite_function function, int fd, const void *data, size_t length, off_t offset) {
  pthread_mutex_lock(&lock);
  record('w', fd, (uint64_t)offset, "", data, length);
  ssize_t written = function(fd, data, length, offset);
  int error = errno;
  if (written != (ssize_t)length) record('x', fd, 0, "a write that was cut short", NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return written;
}

#define PWRITE(name) \
  EXPORT ssize_t name(int fd, const void *data, size_t length, off_t offset) { \
    REAL(pwrite_function, #name); \
    if (!tracks(fd)) return function(fd, data, length, offset); \
    return do_pwrite(function, fd, data, length, offset); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

EXPORT ssize_t write(int fd, const void *data, size_t length) {
  REAL(write_function, "write");
  if (!tracks(fd)) return function(fd, data, length);
  pthread_mutex_lock(&lock);
  off_t offset = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  record('w', fd, (uint64_t)offset, "", data, length);
  ssize_t written = function(fd, data, length);
  int error = errno;
  if (written != (ssize_t)length) record('x', fd, 0, "a write that was cut short", NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return written;
}

static int do_truncate(truncate_function function, int fd, off_t size) {
  pthread_mutex_lock(&lock);
  record('t', fd, (uint64_t)size, "", NULL, 0);
  int result = function(fd, size);
  int error = errno;
  if (result != 0) record('x', fd, 0, "a truncation that failed", NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

#define TRUNCATE(name) \
  EXPORT int name(int fd, off_t size) { \
    REAL(truncate_function, #name); \
    return tracks(fd) ? do_truncate(function, fd, size) : function(fd, size); \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

/* A sync may or may not include what is written while it runs: only earlier changes count. */
static int do_sync(fd_function function, int fd) {
  pthread_mutex_lock(&lock);
  uint64_t number = syncs++;
  record('s', fd, number, "", NULL, 0);
  pthread_mutex_unlock(&lock);
  int result = function(fd);
  int error = errno;
  if (result == 0) {
    pthread_mutex_lock(&lock);
    record('d', fd, number, "", NULL, 0);
    pthread_mutex_unlock(&lock);
  }
  errno = error;
  return result;
}

#define SYNC(name) \
  EXPORT int name(int fd) { \
    REAL(fd_function, #name); \
    return tracks(fd) ? do_sync(function, fd) : function(fd); \
  }
SYNC(fsync)
SYNC(fdatasync)

EXPORT int rename(const char *path, const char *target) {
  static int (*function)(const char *, const char *);
  if (!function) function = (int (*)(const char *, const char *))real("rename");
  const char *from = name_of(path), *to = name_of(target);
  if (!from && !to) return function(path, target);
  pthread_mutex_lock(&lock);
  if (from && to) record('r', -1, 0, from, to, strlen(to));
  else record('x', -1, 0, "a rename over the edge of the folder", NULL, 0);
  int result = function(path, target);
  int error = errno;
  if (result != 0) record('x', -1, 0, "a rename that failed", NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

EXPORT int unlink(const char *path) {
  REAL(path_function, "unlink");
  const char *name = name_of(path);
  if (!name) return function(path);
  pthread_mutex_lock(&lock);
  struct stat status;
  if (lstat(path, &status) == 0) record('u', -1, 0, name, NULL, 0);
  int result = function(path);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

/* Calls without a model: they are recorded as such, and the reader of the log rejects it. */
static void refuse(const char *what) {
  pthread_mutex_lock(&lock);
  record('x', -1, 0, what, NULL, 0);
  pthread_mutex_unlock(&lock);
}

#define REFUSED_ON_FD(result, name, parameters, call) \
  EXPORT result name parameters { \
    REAL(__typeof__(&name), #name); \
    if (tracks(fd)) refuse(#name); \
    return function call; \
  }
#define REFUSED_ON_PATH(result, name, parameters, call) \
  EXPORT result name parameters { \
    REAL(__typeof__(&name), #name); \
    if (name_of(path)) refuse(#name); \
    return function call; \
  }

REFUSED_ON_FD(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
REFUSED_ON_FD(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
REFUSED_ON_FD(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
REFUSED_ON_FD(int, fallocate, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
REFUSED_ON_FD(int, fallocate64, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
REFUSED_ON_FD(int, posix_fallocate, (int fd, off_t offset, off_t length), (fd, offset, length))
REFUSED_ON_FD(int, posix_fallocate64, (int fd, off_t offset, off_t length), (fd, offset, length))
REFUSED_ON_PATH(int, truncate, (const char *path, off_t size), (path, size))
REFUSED_ON_PATH(int, truncate64, (const char *path, off_t size), (path, size))
REFUSED_ON_PATH(int, link, (const char *path, const char *target), (path, target))
REFUSED_ON_PATH(int, creat, (const char *path, mode_t mode), (path, mode))
