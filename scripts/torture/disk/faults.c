/*
 * Makes the files below a folder fail like those of a bad disk. Loaded by LD_PRELOAD; DISK_FAULTS_DIR is the folder
 * and DISK_FAULTS_CONTROL a file of 4096 bytes with the current faults (`faults.ts` writes it).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct control {
  uint32_t write_errno; /* of write, pwrite, ftruncate, fallocate; EROFS: of opening for writing too */
  uint32_t sync_errno;  /* of fsync and fdatasync */
  uint32_t read_errno;  /* of read and pread */
  uint32_t is_short;    /* half of the bytes are written before the error */
  uint32_t sync_delay_ms;
  uint32_t is_lossy; /* a failed sync loses its data, as the page cache may drop it */
  uint32_t bad_page; /* reads fail only if they include this page of 4096 bytes, counted from 1; 0: all */
  char suffix[32];   /* only files whose name ends with this; empty for all */
  _Atomic uint32_t faults;
};

/* Content of a file before a write that is not synced yet. */
struct undo {
  struct undo *older;
  dev_t device;
  ino_t inode;
  off64_t at;
  size_t size;
  char bytes[];
};

static struct control *control;
static char folder[4096];
static struct undo *undos;
static pthread_mutex_t undo_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int is_half_written;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void set_up(void) {
  const char *dir = getenv("DISK_FAULTS_DIR"), *file = getenv("DISK_FAULTS_CONTROL");
  if (!dir || !file || !realpath(dir, folder)) return;
  int fd = REAL(open)(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) control = page;
}

static int is_meant(const char *path) {
  size_t length = strlen(path), suffix = strnlen(control->suffix, sizeof control->suffix);
  if (strncmp(path, folder, strlen(folder)) || path[strlen(folder)] != '/') return 0;
  return length >= suffix && !strncmp(path + length - suffix, control->suffix, suffix);
}

static int is_open_file_meant(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_meant(path);
}

static int fail(uint32_t error) {
  atomic_fetch_add(&control->faults, 1);
  errno = (int)error;
  return -1;
}

/* Returns how many bytes of a write of `size` succeed; -1 with errno if it fails. */
static ssize_t writable(int fd, size_t size) {
  if (!control || !control->write_errno || !is_open_file_meant(fd)) return (ssize_t)size;
  if (control->is_short && size > 1 && !is_half_written) {
    is_half_written = 1;
    return (ssize_t)(size / 2);
  }
  is_half_written = 0;
  return fail(control->write_errno);
}

static void remember(int fd, size_t size, off64_t at) {
  struct stat file;
  if (!control || !control->is_lossy || fstat(fd, &file) || !is_open_file_meant(fd)) return;
  struct undo *undo = calloc(1, sizeof *undo + size);
  undo->device = file.st_dev;
  undo->inode = file.st_ino;
  undo->at = at;
  undo->size = size;
  (void)!REAL(pread64)(fd, undo->bytes, size, at);
  pthread_mutex_lock(&undo_lock);
  undo->older = undos;
  undos = undo;
  pthread_mutex_unlock(&undo_lock);
}

/* Forgets the writes of a file since its last sync, undoing them if they are lost. */
static void settle(int fd, int is_lost) {
  struct stat file;
  if (!undos || fstat(fd, &file)) return;
  pthread_mutex_lock(&undo_lock);
  for (struct undo **next = &undos; *next;) {
    struct undo *undo = *next;
    if (undo->device == file.st_dev && undo->inode == file.st_ino) {
      if (is_lost) (void)!REAL(pwrite64)(fd, undo->bytes, undo->size, undo->at);
      *next = undo->older;
      free(undo);
    } else {
      next = &undo->older;
    }
  }
  pthread_mutex_unlock(&undo_lock);
}

static int synced(int fd, int (*sync)(int)) {
  if (control && (control->sync_errno || control->sync_delay_ms) && is_open_file_meant(fd)) {
    struct timespec delay = {control->sync_delay_ms / 1000, (control->sync_delay_ms % 1000) * 1000000L};
    nanosleep(&delay, 0);
    if (control->sync_errno) {
      settle(fd, 1);
      return fail(control->sync_errno);
    }
  }
  int result = sync(fd);
  if (!result) settle(fd, 0);
  return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }

int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

ssize_t write(int fd, const void *bytes, size_t size) {
  ssize_t part = writable(fd, size);
  return part < 0 ? part : REAL(write)(fd, bytes, (size_t)part);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  ssize_t part = writable(fd, size);
  if (part < 0) return part;
  remember(fd, (size_t)part, at);
  return REAL(pwrite64)(fd, bytes, (size_t)part, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return pwrite64(fd, bytes, size, at); }

int ftruncate64(int fd, off64_t size) { return writable(fd, 0) < 0 ? -1 : REAL(ftruncate64)(fd, size); }

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int fallocate64(int fd, int mode, off64_t at, off64_t size) {
  return writable(fd, 0) < 0 ? -1 : REAL(fallocate64)(fd, mode, at, size);
}

int fallocate(int fd, int mode, off_t at, off_t size) { return fallocate64(fd, mode, at, size); }

static int is_unreadable(int fd, size_t size, off64_t at) {
  if (!control || !control->read_errno) return 0;
  off64_t from = 4096 * ((off64_t)control->bad_page - 1);
  int is_beside = control->bad_page && (at >= from + 4096 || at + (off64_t)size <= from);
  return !is_beside && is_open_file_meant(fd);
}

ssize_t read(int fd, void *bytes, size_t size) {
  int is_bad = control && control->read_errno && is_unreadable(fd, size, REAL(lseek64)(fd, 0, SEEK_CUR));
  return is_bad ? fail(control->read_errno) : REAL(read)(fd, bytes, size);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at) {
  return is_unreadable(fd, size, at) ? fail(control->read_errno) : REAL(pread64)(fd, bytes, size, at);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at) { return pread64(fd, bytes, size, at); }

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(rest, int) : 0;
  va_end(rest);
  int is_writing = (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
  if (control && control->write_errno == EROFS && is_writing && is_meant(path)) return fail(EROFS);
  return REAL(open64)(path, flags, mode);
}
