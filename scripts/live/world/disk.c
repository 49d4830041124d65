/*
 * A disk under the folders of the programs of one process: it remembers what no sync has made safe, so that a power cut
 * can take any of it back, and it fails when it is told to. Loaded by LD_PRELOAD; disk.ts gives its commands as names
 * of links to read, "bottle-disk:COMMAND", and gets the answer as the target.
 *
 * As in scripts/torture/disk/model.ts a sync of a file makes its content safe but not its name, and a sector is written
 * whole or not at all. Files ending in -shm are left out: SQLite maps and recreates them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FDS 65536
#define MAX_FOLDERS 8
#define MAX_PATH 1024
#define SECTOR 512
#define COMMAND "bottle-disk:"
#define EXPORT __attribute__((visibility("default")))
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

struct folder {
  char path[MAX_PATH];
  size_t length;
  int write_errno, sync_errno, read_errno;
  long left;       /* changes until it freezes; below 0 for never */
  uint64_t frozen; /* number of the last change that reached the disk; 0 while the power is on */
};

/* One change of a file, with what was there before; `is_resize`: a truncation. */
struct change {
  struct change *older;
  uint64_t number;
  int is_resize;
  off_t at, size_before;
  size_t length, old_length; /* bytes written, and those of them that were in the file before */
  char old[];
};

/* A file with changes that are not safe. */
struct file {
  struct file *next;
  int folder, fd;
  dev_t device;
  ino_t inode;
  struct change *newest;
};

/* Change of names that is not safe; `aside` is a link to the file that lost its name, or 0. */
struct name {
  struct name *older;
  uint64_t number, aside;
  int folder;
  char kind; /* c, u, r */
  char path[MAX_PATH], target[MAX_PATH];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct folder folders[MAX_FOLDERS];
static int folder_count;
static unsigned char folder_of[MAX_FDS]; /* index + 1 */
static struct file *files;
static struct name *names;
static uint64_t changes, asides, random_state;
static int is_half_written;

static uint64_t next_random(void) {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Returns the number of the folder of a path, counted from 1; 0 for none. */
static int folder_in(const char *path) {
  size_t length = path ? strlen(path) : 0;
  if (length >= 4 && !strcmp(path + length - 4, "-shm")) return 0;
  for (int i = 0; i < folder_count; i++) {
    const struct folder *one = &folders[i];
    if (length < MAX_PATH && !strncmp(path, one->path, one->length) && (path[one->length] == '/' || !path[one->length]))
      return i + 1;
  }
  return 0;
}

static int tracked(int fd) { return fd >= 0 && fd < MAX_FDS ? folder_of[fd] : 0; }

static int fail(int error) {
  errno = error;
  return -1;
}

/* Numbers a change; the disk may have no power for it any more. */
static uint64_t numbered(struct folder *folder) {
  changes++;
  if (folder->left >= 0 && folder->left-- == 0) folder->frozen = changes - 1;
  return changes;
}

static void aside_path(char *path, const struct folder *folder, uint64_t aside) {
  snprintf(path, MAX_PATH, "%s-aside/%llu", folder->path, (unsigned long long)aside);
}

/* ---- changes of content ---- */

static struct file *file_of(int fd, int folder) {
  struct stat status;
  if (fstat(fd, &status) || !S_ISREG(status.st_mode)) return NULL;
  for (struct file *one = files; one; one = one->next)
    if (one->inode == status.st_ino && one->device == status.st_dev) return one;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  REAL(open);
  int own = real(path, O_RDWR | O_CLOEXEC);
  if (own < 0) return NULL;
  struct file *file = calloc(1, sizeof *file);
  *file = (struct file){files, folder, own, status.st_dev, status.st_ino, NULL};
  return files = file;
}

static void note(int fd, int folder, int is_resize, off_t at, size_t length) {
  struct stat status;
  struct file *file = file_of(fd, folder);
  if (!file || fstat(fd, &status)) return;
  if (is_resize && at == status.st_size) return;
  size_t old = 0;
  if (at < status.st_size) {
    off_t left = status.st_size - at;
    old = is_resize || left < (off_t)length ? (size_t)left : length;
  }
  struct change *change = malloc(sizeof *change + old);
  if (!change) abort();
  *change = (struct change){file->newest, numbered(&folders[folder - 1]), is_resize, at, status.st_size, length, old};
  if (old && pread(file->fd, change->old, old, at) != (ssize_t)old) abort();
  file->newest = change;
}

static void restore(int fd, const void *bytes, size_t length, off_t at) {
  REAL(pwrite);
  if (length && real(fd, bytes, length, at) != (ssize_t)length) abort();
}

static void resize(int fd, off_t size) {
  REAL(ftruncate);
  if (real(fd, size)) abort();
}

static void undo(const struct file *file, const struct change *change) {
  if (change->is_resize) resize(file->fd, change->size_before);
  restore(file->fd, change->old, change->old_length, change->at);
  if (!change->is_resize) resize(file->fd, change->size_before);
}

static void forget_newest(struct file *file) {
  struct change *change = file->newest;
  file->newest = change->older;
  free(change);
}

/* Forgets the changes of a file, and the file. */
static void forget(struct file **at) {
  struct file *file = *at;
  REAL(close);
  while (file->newest) forget_newest(file);
  *at = file->next;
  real(file->fd);
  free(file);
}

/* Leaves of each sector one of its contents since the last sync, and of the truncations some of the first. */
static void tear(struct file *file) {
  size_t resizes = 0;
  for (struct change *one = file->newest; one; one = one->older) resizes += (size_t)one->is_resize;
  for (size_t undone = next_random() % (resizes + 1); undone; forget_newest(file)) {
    undone -= (size_t)file->newest->is_resize;
    undo(file, file->newest);
  }
  struct stat status;
  if (!file->newest || fstat(file->fd, &status)) return;
  unsigned char *is_kept = calloc(1, (size_t)status.st_size / SECTOR / 8 + 1);
  off_t size = status.st_size, shortened = size;
  size_t sizes = 1;
  int has_resize = 0;
  for (struct change *one = file->newest; one; one = one->older) {
    has_resize |= one->is_resize;
    if (!has_resize && next_random() % ++sizes == 0) shortened = one->size_before;
    if (one->is_resize) continue;
    off_t end = one->at + (off_t)one->length;
    for (off_t from = one->at, to; from < end && from < size; from = to) {
      off_t sector = from / SECTOR;
      to = (sector + 1) * SECTOR < end ? (sector + 1) * SECTOR : end;
      if (to > size) to = size;
      if (is_kept[sector / 8] & 1 << sector % 8) continue;
      if (next_random() % 2) {
        is_kept[sector / 8] |= (unsigned char)(1 << sector % 8);
        continue;
      }
      char bytes[SECTOR] = {0};
      off_t had = one->at + (off_t)one->old_length - from;
      if (had > to - from) had = to - from;
      if (had > 0) memcpy(bytes, one->old + (from - one->at), (size_t)had);
      restore(file->fd, bytes, (size_t)(to - from), from);
    }
  }
  free(is_kept);
  if (next_random() % 2 && shortened < size) resize(file->fd, shortened);
}

/* ---- changes of names ---- */

static void note_name(int folder, char kind, const char *path, const char *target) {
  struct name *name = calloc(1, sizeof *name);
  *name = (struct name){names, numbered(&folders[folder - 1]), 0, folder, kind, "", ""};
  snprintf(name->path, MAX_PATH, "%s", path);
  snprintf(name->target, MAX_PATH, "%s", target);
  if (kind != 'c') {
    char aside[MAX_PATH];
    aside_path(aside, &folders[folder - 1], ++asides);
    if (!link(kind == 'u' ? path : target, aside)) name->aside = asides;
  }
  names = name;
}

static void forget_name(struct name **at, int is_undone) {
  struct name *name = *at;
  REAL(unlink);
  char aside[MAX_PATH];
  aside_path(aside, &folders[name->folder - 1], name->aside);
  if (is_undone) {
    static int (*real_rename)(const char *, const char *);
    if (!real_rename) real_rename = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (name->kind == 'c') real(name->path);
    if (name->kind == 'r') real_rename(name->target, name->path);
    if (name->aside) (void)!link(aside, name->kind == 'u' ? name->path : name->target);
  }
  if (name->aside) real(aside);
  *at = name->older;
  free(name);
}

static int is_within(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return !strncmp(path, folder, length) && path[length] == '/' && !strchr(path + length + 1, '/');
}

static void sync_names(int fd) {
  char link[64], path[MAX_PATH];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = (ssize_t)syscall(SYS_readlink, link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  for (struct name **at = &names; *at;)
    if (is_within((*at)->path, path) || is_within((*at)->target, path)) forget_name(at, 0);
    else at = &(*at)->older;
  /* what has no name any more does not come back */
  struct stat status;
  for (struct file **at = &files; *at;)
    if (!fstat((*at)->fd, &status) && !status.st_nlink) forget(at);
    else at = &(*at)->next;
}

/* ---- commands ---- */

static void settle(int folder) {
  for (struct file **at = &files; *at;)
    if ((*at)->folder == folder) forget(at);
    else at = &(*at)->next;
  for (struct name **at = &names; *at;)
    if ((*at)->folder == folder) forget_name(at, 0);
    else at = &(*at)->older;
  folders[folder - 1].frozen = 0;
  folders[folder - 1].left = -1;
}

/* Takes back what a power cut takes; `mode` is none, some or all of what is not safe. Returns how much that was. */
static long cut(int folder, const char *mode, uint64_t seed) {
  uint64_t last = folders[folder - 1].frozen ? folders[folder - 1].frozen : UINT64_MAX;
  int keeps_some = !strcmp(mode, "some"), keeps_none = !strcmp(mode, "none");
  long unsafe = 0, unsafe_names = 0;
  random_state = seed;
  for (struct file *file = files; file; file = file->next) {
    if (file->folder != folder) continue;
    for (struct change *one = file->newest; one; one = one->older) unsafe += one->number <= last;
    for (; file->newest && (keeps_none || file->newest->number > last); forget_newest(file)) undo(file, file->newest);
    if (keeps_some && file->newest) tear(file);
  }
  for (struct name *one = names; one; one = one->older) unsafe_names += one->folder == folder && one->number <= last;
  uint64_t undone = keeps_none ? (uint64_t)unsafe_names : keeps_some ? next_random() % (uint64_t)(unsafe_names + 1) : 0;
  for (struct name **at = &names; *at;) {
    if ((*at)->folder != folder) at = &(*at)->older;
    else if ((*at)->number > last) forget_name(at, 1);
    else if (undone) undone--, forget_name(at, 1);
    else break;
  }
  settle(folder);
  return unsafe + unsafe_names;
}

static long command(const char *text) {
  int folder = 0, write_errno, sync_errno, read_errno;
  long left;
  unsigned long long seed;
  char mode[8], path[MAX_PATH];
  if (sscanf(text, "watch %1000s", path) == 1) {
    if (folder_count == MAX_FOLDERS) return 0;
    struct folder *one = &folders[folder_count++];
    *one = (struct folder){.length = strlen(path), .left = -1};
    strcpy(one->path, path);
    strcat(path, "-aside");
    mkdir(path, 0700);
    return folder_count;
  }
  if (sscanf(text, "%*s %d", &folder) != 1 || folder < 1 || folder > folder_count) return -1;
  struct folder *one = &folders[folder - 1];
  if (sscanf(text, "arm %*d %ld", &left) == 1) one->left = left;
  else if (sscanf(text, "fail %*d %d %d %d", &write_errno, &sync_errno, &read_errno) == 3)
    one->write_errno = write_errno, one->sync_errno = sync_errno, one->read_errno = read_errno;
  else if (sscanf(text, "cut %*d %7s %llu", mode, &seed) == 2) return cut(folder, mode, seed);
  else if (!strncmp(text, "settle ", 7)) settle(folder);
  else if (!strncmp(text, "frozen ", 7)) return one->frozen != 0;
  else return -1;
  return 0;
}

/* ---- calls of the programs ---- */

EXPORT ssize_t readlink(const char *path, char *target, size_t size) {
  REAL(readlink);
  if (strncmp(path, COMMAND, strlen(COMMAND))) return real(path, target, size);
  pthread_mutex_lock(&lock);
  long result = command(path + strlen(COMMAND));
  pthread_mutex_unlock(&lock);
  return snprintf(target, size, "%ld", result);
}

static int do_open(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  int folder = folder_in(path);
  if (!folder) return real(path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat status;
  /* what it overwrites must be readable */
  if ((flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
  int is_new = flags & O_CREAT && lstat(path, &status);
  int truncates = flags & O_TRUNC && !is_new;
  int fd = real(path, flags & ~O_TRUNC, mode);
  int error = errno;
  if (fd >= MAX_FDS) abort();
  if (fd >= 0) {
    folder_of[fd] = (unsigned char)folder;
    if (is_new) note_name(folder, 'c', path, "");
    if (truncates) {
      note(fd, folder, 1, 0, 0);
      resize(fd, 0);
    }
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define OPEN(name) \
  EXPORT int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return do_open(real, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

EXPORT int close(int fd) {
  REAL(close);
  if (tracked(fd)) folder_of[fd] = 0;
  return real(fd);
}

/* libuv closes files by it */
EXPORT long syscall(long number, ...) {
  REAL(syscall);
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = va_arg(rest, long);
  va_end(rest);
  return number == SYS_close ? close((int)a[0]) : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Notes a write of `size` bytes and returns how many of them succeed: of each that fails half are written first. */
static ssize_t begin_write(int fd, int folder, size_t size, off_t at) {
  struct folder *one = &folders[folder - 1];
  if (one->write_errno) {
    is_half_written = !is_half_written && size > 1;
    if (!is_half_written) return fail(one->write_errno);
    size /= 2;
  }
  note(fd, folder, 0, at, size);
  return (ssize_t)size;
}

#define PWRITE(name) \
  EXPORT ssize_t name(int fd, const void *bytes, size_t size, off_t at) { \
    REAL(name); \
    int folder = tracked(fd); \
    if (!folder) return real(fd, bytes, size, at); \
    pthread_mutex_lock(&lock); \
    ssize_t part = begin_write(fd, folder, size, at); \
    if (part >= 0) part = real(fd, bytes, (size_t)part, at); \
    pthread_mutex_unlock(&lock); \
    return part; \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

EXPORT ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  int folder = tracked(fd);
  if (!folder) return real(fd, bytes, size);
  pthread_mutex_lock(&lock);
  off_t at = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  ssize_t part = begin_write(fd, folder, size, at);
  if (part >= 0) part = real(fd, bytes, (size_t)part);
  pthread_mutex_unlock(&lock);
  return part;
}

#define TRUNCATE(name) \
  EXPORT int name(int fd, off_t size) { \
    REAL(name); \
    int folder = tracked(fd); \
    if (!folder) return real(fd, size); \
    pthread_mutex_lock(&lock); \
    struct folder *one = &folders[folder - 1]; \
    int result = one->write_errno ? fail(one->write_errno) : 0; \
    if (!result) { \
      note(fd, folder, 1, size, 0); \
      result = real(fd, size); \
    } \
    pthread_mutex_unlock(&lock); \
    return result; \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

/* The sync itself is left out: a power cut is one of this disk. One that fails loses what it was for. */
static int do_sync(int fd) {
  int folder = tracked(fd), result = 0;
  struct folder *one = &folders[folder - 1];
  struct stat status;
  pthread_mutex_lock(&lock);
  numbered(one);
  if (one->sync_errno) result = fail(one->sync_errno);
  if (!one->frozen && !fstat(fd, &status)) {
    if (S_ISDIR(status.st_mode)) {
      if (!result) sync_names(fd);
    } else
      for (struct file **at = &files; *at; at = &(*at)->next) {
        if ((*at)->inode != status.st_ino || (*at)->device != status.st_dev) continue;
        for (; result && (*at)->newest; forget_newest(*at)) undo(*at, (*at)->newest);
        forget(at);
        break;
      }
  }
  pthread_mutex_unlock(&lock);
  return result;
}

#define SYNC(name) \
  EXPORT int name(int fd) { \
    REAL(name); \
    return tracked(fd) ? do_sync(fd) : real(fd); \
  }
SYNC(fsync)
SYNC(fdatasync)

EXPORT int rename(const char *path, const char *target) {
  static int (*real)(const char *, const char *);
  if (!real) real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  int folder = folder_in(path);
  struct stat status;
  if (!folder || lstat(path, &status)) return real(path, target);
  pthread_mutex_lock(&lock);
  note_name(folder, 'r', path, target);
  int result = real(path, target), error = errno;
  if (result) forget_name(&names, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

EXPORT int unlink(const char *path) {
  REAL(unlink);
  int folder = folder_in(path);
  struct stat status;
  if (!folder || lstat(path, &status)) return real(path);
  pthread_mutex_lock(&lock);
  note_name(folder, 'u', path, "");
  int result = real(path), error = errno;
  if (result) forget_name(&names, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

#define READ(name, parameters, arguments) \
  EXPORT ssize_t name parameters { \
    REAL(name); \
    int folder = tracked(fd); \
    if (folder && folders[folder - 1].read_errno) return fail(folders[folder - 1].read_errno); \
    return real arguments; \
  }
READ(read, (int fd, void *bytes, size_t size), (fd, bytes, size))
READ(pread, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
READ(pread64, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
