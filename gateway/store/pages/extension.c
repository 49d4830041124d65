/*
** SQLite extension that the program loads. It has five sections:
**
** 1. Checksums            of all pages of a database, in a file next to it, compared when a page is read
** 2. Single-bit errors    are corrected when a page is read
** 3. Unused parts         of pages are overwritten with zeros, so that erased data does not stay in the file
** 4. Write-ahead log      is synced by fdatasync()
** 5. Memory               that was freed is returned to the system
**
** SQL functions, only for the program's own statements (SQLITE_DIRECTONLY):
**
** name                  arguments               returns                                                       section
** page_is_right         content, number, entry  1 or 0; NULL if the entry is not valid                             1
** page_content          number                  the page in the file; NULL without checksums                       1
** page_checks           on                      NULL; sets if this connection compares checksums                   1
** page_scan             first, count            numbers of damaged pages; NULL without checksums                   1
** page_wrong_bit        content, number, entry  the bit; NULL for none, or if the entry is not valid               2
** pages_with_wrong_bit                          numbers of recorded pages; NULL without checksums                  2
** page_put_right        number                  1 if corrected, 0 if it was correct; NULL if it cannot be          2
** give_back_memory                              1 if memory was returned, else 0                                   5
**
** It is a VFS of SQLite (https://sqlite.org/vfs.html) on top of the default one. A database DB has checksums if a file
** DB-sums is in the same folder; of all other files only the write-ahead log is handled here (see LogFile). What is written
** to the database differs from what SQLite writes only in unused parts of pages (see withoutGap), so that any other program
** can read it.
**
** DB-sums begins with HEADER_BYTES that belong to page-sums.ts, with two exceptions. At SIZE_AT are the page size and its
** complement: a database header with a different page size is damaged. At NOTES_AT are the numbers of pages that were read
** with a single-bit error, each with its complement.
** Then 16 bytes for each page: a checksum of its number and content, and the same mixed with its number and size. If the
** two do not match, the entry is not valid: the page is accepted, and its checksum is recorded when it is read. So damage
** to this file never makes an intact page count as damaged.
**
** A single-bit error is corrected when the page is read (see wrongBit), so the caller gets what was written. The number of
** the page is recorded, so that page_put_right() can correct the file.
**
** A checksum may be recorded when a page is read because SQLite reads a page of the database only in a transaction in
** which no checkpoint writes to that page. Checksums are on the disk before a checkpoint ends; after a power cut during a
** checkpoint its pages are in the write-ahead log, and are read from there.
*/
#include "sqlite3ext.h"
SQLITE_EXTENSION_INIT1

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef sqlite3_uint64 u64;
typedef unsigned int u32;
typedef unsigned char u8;

#define HEADER_BYTES 512
#define SIZE_AT 128
#define NOTES_AT 256
#define NOTES 32
#define MIN_PAGE 512
#define MAX_PAGE 65536
#define MAX_BAD 64
#define RETRIES 3

/* Primes of XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), and their inverses modulo 2^64. */
#define PRIME_1 0x9E3779B185EBCA87ull
#define PRIME_2 0xC2B2AE3D27D4EB4Full
#define INVERSE_1 0x887493432badb37ull
#define INVERSE_2 0xba79078168d4bafull

/* SHA-256 of this file, by which a test knows the source of a binary. */
#ifndef SOURCE_SHA256
#define SOURCE_SHA256 "unknown"
#endif
__attribute__((used)) static const char source[] = "page-sums source " SOURCE_SHA256;

typedef struct SumFile {
  sqlite3_file base;
  int fd;          /* of DB-sums */
  int pageBytes;   /* of the database; 0 while it is not known */
  int isUnsynced;  /* checksums were written and must be synced with the pages */
  int isUnchecked; /* see page_checks() */
} SumFile;

typedef struct Entry {
  u64 sum;
  u64 check;
} Entry;

static sqlite3_vfs *below;
static sqlite3_vfs shim;

static sqlite3_file *fileBelow(sqlite3_file *file) {
  return (sqlite3_file *)(((SumFile *)file) + 1);
}

/* Functions of sections 2 and 3. */
static int wrongBit(const u8 *page, int bytes, u32 number, u64 sum);
static void flip(u8 *page, int bit);
static void noteWrongBit(SumFile *file, u32 number);
static const u8 *withoutGap(const u8 *page, int bytes, u32 number, u8 *copy);

/* ---- 1. Checksums ---- */

static u64 turnLeft(u64 value, int bits) { return value << bits | value >> (64 - bits); }

/* Mixes a word into a sum. The sum before, the word and the sum after: any two determine the third. */
static u64 withWord(u64 sum, u64 word) { return turnLeft(sum + word * PRIME_2, 31) * PRIME_1; }
static u64 withoutWord(u64 sum, u64 word) { return turnLeft(sum * INVERSE_1, 33) - word * PRIME_2; }
static u64 wordBetween(u64 before, u64 after) { return (turnLeft(after * INVERSE_1, 33) - before) * INVERSE_2; }

/* A lane has every fourth word of 8 bytes. */
static void sumLanes(const u8 *page, int bytes, u32 number, u64 lanes[4]) {
  u64 word;
  int at, lane;
  lanes[0] = number + PRIME_1 + PRIME_2;
  lanes[1] = number + PRIME_2;
  lanes[2] = number;
  lanes[3] = number - PRIME_1;
  for (at = 0; at < bytes; at += 32) {
    for (lane = 0; lane < 4; lane++) {
      memcpy(&word, page + at + lane * 8, 8);
      lanes[lane] = withWord(lanes[lane], word);
    }
  }
}

static u64 sumOf(const u8 *page, int bytes, u32 number) {
  u64 lanes[4], all = (u64)bytes;
  int lane;
  sumLanes(page, bytes, number, lanes);
  for (lane = 0; lane < 4; lane++) all = withWord(all, lanes[lane]);
  return all;
}

static u64 checkOf(u64 sum, int bytes, u32 number) {
  return withWord(((u64)number << 20) + (u64)bytes, sum);
}

static sqlite3_int64 offsetOf(u32 number) {
  return HEADER_BYTES + (sqlite3_int64)(number - 1) * (sqlite3_int64)sizeof(Entry);
}

static int isPageSize(int bytes) {
  return bytes >= MIN_PAGE && bytes <= MAX_PAGE && (bytes & (bytes - 1)) == 0;
}

/* Returns 1 if the entry exists and is valid. */
static int readEntry(SumFile *file, u32 number, Entry *entry) {
  if (pread(file->fd, entry, sizeof *entry, offsetOf(number)) != sizeof *entry) return 0;
  return entry->check == checkOf(entry->sum, file->pageBytes, number);
}

static int writeEntry(SumFile *file, u32 number, u64 sum) {
  Entry entry = {sum, checkOf(sum, file->pageBytes, number)};
  return pwrite(file->fd, &entry, sizeof entry, offsetOf(number)) == sizeof entry;
}

/* Returns the recorded page size; 0 if there is none. */
static int readSize(int fd) {
  u32 size[2];
  if (pread(fd, size, sizeof size, SIZE_AT) != sizeof size) return 0;
  return size[0] == ~size[1] && isPageSize((int)size[0]) ? (int)size[0] : 0;
}

static int noteSize(SumFile *file, int bytes) {
  u32 size[2] = {(u32)bytes, ~(u32)bytes};
  if (file->pageBytes == bytes) return 1;
  /* the recorded checksums are of pages of another size */
  if (file->pageBytes != 0 && ftruncate(file->fd, HEADER_BYTES) != 0) return 0;
  file->pageBytes = bytes;
  return pwrite(file->fd, size, sizeof size, SIZE_AT) == sizeof size;
}

typedef enum Verdict { RIGHT, UNKNOWN, ONE_BIT, WRONG } Verdict;

/* Compares a page with its checksum; `bit` is set for a single-bit error. */
static Verdict judge(SumFile *file, const u8 *page, u32 number, int *bit) {
  Entry entry;
  if (!readEntry(file, number, &entry)) return UNKNOWN;
  if (entry.sum == sumOf(page, file->pageBytes, number)) return RIGHT;
  *bit = wrongBit(page, file->pageBytes, number, entry.sum);
  return *bit < 0 ? WRONG : ONE_BIT;
}

static int readPage(SumFile *file, u8 *page, u32 number) {
  sqlite3_file *under = fileBelow(&file->base);
  sqlite3_int64 offset = (sqlite3_int64)(number - 1) * file->pageBytes;
  Verdict verdict = UNKNOWN;
  int bit = -1, rc, attempt;
  /* read again: the error may be one of the cable or the controller */
  for (attempt = 0; attempt < 2; attempt++) {
    rc = under->pMethods->xRead(under, page, file->pageBytes, offset);
    if (rc != SQLITE_OK) return rc;
    verdict = judge(file, page, number, &bit);
    if (verdict == RIGHT) return SQLITE_OK;
    if (verdict == UNKNOWN) {
      /* best effort: otherwise it is recorded at the next read */
      if (!file->isUnchecked) (void)writeEntry(file, number, sumOf(page, file->pageBytes, number));
      return SQLITE_OK;
    }
  }
  if (verdict == ONE_BIT) {
    flip(page, bit);
    noteWrongBit(file, number);
    return SQLITE_OK;
  }
  if (file->isUnchecked) return SQLITE_OK;
  sqlite3_log(SQLITE_IOERR_DATA, "page %u has a wrong checksum", number);
  return SQLITE_IOERR_DATA;
}

/*
** Reads the header of the database without a lock: the page may be written at that moment, which does not look like a
** single-bit error. Returns zeros if the disk fails: the database can still be opened if its first page is in the log.
*/
static int readHeader(SumFile *file, u8 *to, int bytes) {
  sqlite3_file *under = fileBelow(&file->base);
  u8 page[MAX_PAGE];
  int bit, rc;
  if (file->pageBytes >= bytes && under->pMethods->xRead(under, page, file->pageBytes, 0) == SQLITE_OK &&
      judge(file, page, 1, &bit) == ONE_BIT) {
    flip(page, bit);
    memcpy(to, page, bytes);
    return SQLITE_OK;
  }
  rc = under->pMethods->xRead(under, to, bytes, 0);
  if (rc != SQLITE_IOERR_CORRUPTFS) return rc;
  memset(to, 0, bytes);
  return SQLITE_OK;
}

static int sumRead(sqlite3_file *pFile, void *to, int bytes, sqlite3_int64 offset) {
  SumFile *file = (SumFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  u8 whole[MAX_PAGE];
  int rc;
  if (isPageSize(bytes) && offset % bytes == 0) {
    if (file->pageBytes == 0) (void)noteSize(file, bytes);
    if (file->pageBytes == bytes) return readPage(file, to, (u32)(offset / bytes) + 1);
    if (offset == 0 && !file->isUnchecked) return SQLITE_IOERR_DATA;
  }
  if (offset == 0) return readHeader(file, to, bytes);
  /* the beginning of an overflow page */
  if (file->pageBytes == 0 || bytes > file->pageBytes || offset % file->pageBytes != 0)
    return under->pMethods->xRead(under, to, bytes, offset);
  rc = readPage(file, whole, (u32)(offset / file->pageBytes) + 1);
  if (rc == SQLITE_OK) memcpy(to, whole, bytes);
  if (rc == SQLITE_IOERR_SHORT_READ) return under->pMethods->xRead(under, to, bytes, offset);
  return rc;
}

static int sumWrite(sqlite3_file *pFile, const void *from, int bytes, sqlite3_int64 offset) {
  SumFile *file = (SumFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  u8 copy[MAX_PAGE];
  int isPage = isPageSize(bytes) && offset % bytes == 0;
  u32 number = isPage ? (u32)(offset / bytes) + 1 : 0;
  const u8 *written = isPage ? withoutGap(from, bytes, number, copy) : from;
  int rc = under->pMethods->xWrite(under, written, bytes, offset);
  if (rc != SQLITE_OK) return rc;
  file->isUnsynced = 1;
  if (!isPage) return ftruncate(file->fd, HEADER_BYTES) == 0 ? SQLITE_OK : SQLITE_IOERR_WRITE;
  if (!noteSize(file, bytes)) return SQLITE_FULL;
  return writeEntry(file, number, sumOf(written, bytes, number)) ? SQLITE_OK : SQLITE_FULL;
}

static int sumTruncate(sqlite3_file *pFile, sqlite3_int64 size) {
  SumFile *file = (SumFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  sqlite3_int64 pages = file->pageBytes == 0 ? 0 : size / file->pageBytes;
  int rc = under->pMethods->xTruncate(under, size);
  if (rc != SQLITE_OK) return rc;
  file->isUnsynced = 1;
  return ftruncate(file->fd, offsetOf((u32)pages + 1)) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int sumSync(sqlite3_file *pFile, int flags) {
  SumFile *file = (SumFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  if (file->isUnsynced && fdatasync(file->fd) != 0) return SQLITE_IOERR_FSYNC;
  file->isUnsynced = 0;
  return under->pMethods->xSync(under, flags);
}

static int sumClose(sqlite3_file *pFile) {
  sqlite3_file *under = fileBelow(pFile);
  close(((SumFile *)pFile)->fd);
  return under->pMethods->xClose(under);
}

static int sumFetch(sqlite3_file *file, sqlite3_int64 offset, int bytes, void **page) {
  (void)file, (void)offset, (void)bytes;
  /* a page in mapped memory cannot be checked when it is read */
  *page = 0;
  return SQLITE_OK;
}

static int sumUnfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
  (void)file, (void)offset, (void)page;
  return SQLITE_OK;
}

static int sumCharacteristics(sqlite3_file *pFile) {
  sqlite3_file *under = fileBelow(pFile);
  /* a batch of writes that the file system rolls back would not be reported here */
  return under->pMethods->xDeviceCharacteristics(under) & ~SQLITE_IOCAP_BATCH_ATOMIC;
}

#define BELOW(call) sqlite3_file *under = fileBelow(file); return under->pMethods->call
static int sumFileSize(sqlite3_file *file, sqlite3_int64 *size) { BELOW(xFileSize(under, size)); }
static int sumLock(sqlite3_file *file, int lock) { BELOW(xLock(under, lock)); }
static int sumUnlock(sqlite3_file *file, int lock) { BELOW(xUnlock(under, lock)); }
static int sumCheckReserved(sqlite3_file *file, int *out) { BELOW(xCheckReservedLock(under, out)); }
static int sumFileControl(sqlite3_file *file, int op, void *arg) { BELOW(xFileControl(under, op, arg)); }
static int sumSectorSize(sqlite3_file *file) { BELOW(xSectorSize(under)); }
static int sumShmMap(sqlite3_file *file, int page, int bytes, int extend, void volatile **out) {
  BELOW(xShmMap(under, page, bytes, extend, out));
}
static int sumShmLock(sqlite3_file *file, int offset, int n, int flags) {
  BELOW(xShmLock(under, offset, n, flags));
}
static void sumShmBarrier(sqlite3_file *file) {
  sqlite3_file *under = fileBelow(file);
  under->pMethods->xShmBarrier(under);
}
static int sumShmUnmap(sqlite3_file *file, int remove) { BELOW(xShmUnmap(under, remove)); }

static const sqlite3_io_methods methods = {
  3, sumClose, sumRead, sumWrite, sumTruncate, sumSync, sumFileSize, sumLock, sumUnlock, sumCheckReserved,
  sumFileControl, sumSectorSize, sumCharacteristics, sumShmMap, sumShmLock, sumShmBarrier, sumShmUnmap,
  sumFetch, sumUnfetch
};

/* Returns the file of a connection's main database; 0 if it has no checksums. */
static SumFile *mainFile(sqlite3 *db) {
  sqlite3_file *file = 0;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == 0) return 0;
  return file->pMethods == &methods ? (SumFile *)file : 0;
}

/* Returns the page of a function's arguments, and its entry of DB-sums; 0 if the entry is not valid. */
static const u8 *pageAndEntry(sqlite3_value **argv, int *bytes, u32 *number, Entry *entry) {
  const u8 *page = sqlite3_value_blob(argv[0]);
  const void *stored = sqlite3_value_blob(argv[2]);
  *bytes = sqlite3_value_bytes(argv[0]);
  *number = (u32)sqlite3_value_int64(argv[1]);
  if (page == 0 || !isPageSize(*bytes) || stored == 0 || sqlite3_value_bytes(argv[2]) != (int)sizeof *entry) return 0;
  memcpy(entry, stored, sizeof *entry);
  return entry->check == checkOf(entry->sum, *bytes, *number) ? page : 0;
}

/* page_is_right(content, number, entry): 1 or 0; NULL if the entry of DB-sums is not valid. */
static void pageIsRight(sqlite3_context *context, int argc, sqlite3_value **argv) {
  Entry entry;
  u32 number;
  int bytes;
  const u8 *page = pageAndEntry(argv, &bytes, &number, &entry);
  (void)argc;
  if (page != 0) sqlite3_result_int(context, entry.sum == sumOf(page, bytes, number));
}

/* page_content(number): a page of the file, not of the log, a single-bit error corrected; NULL without checksums. */
static void pageContent(sqlite3_context *context, int argc, sqlite3_value **argv) {
  SumFile *file = mainFile(sqlite3_context_db_handle(context));
  u32 number = (u32)sqlite3_value_int64(argv[0]);
  sqlite3_file *under;
  u8 page[MAX_PAGE];
  int bit = -1;
  (void)argc;
  if (file == 0 || file->pageBytes == 0 || number == 0) return;
  under = fileBelow(&file->base);
  if (under->pMethods->xRead(under, page, file->pageBytes, (sqlite3_int64)(number - 1) * file->pageBytes) != SQLITE_OK)
    return;
  if (judge(file, page, number, &bit) == ONE_BIT) flip(page, bit);
  sqlite3_result_blob(context, page, file->pageBytes, SQLITE_TRANSIENT);
}

/* page_checks(on): sets if this connection compares what it reads; what it writes always gets its checksum. */
static void pageChecks(sqlite3_context *context, int argc, sqlite3_value **argv) {
  SumFile *file = mainFile(sqlite3_context_db_handle(context));
  (void)argc;
  if (file != 0) file->isUnchecked = sqlite3_value_int(argv[0]) == 0;
}

/*
** Reads without a lock, and again if the page is damaged, because a checkpoint may be writing to it. A single-bit error is
** recorded and does not count.
*/
static int isBad(SumFile *file, u8 *page, u32 number) {
  sqlite3_file *under = fileBelow(&file->base);
  sqlite3_int64 offset = (sqlite3_int64)(number - 1) * file->pageBytes;
  Verdict verdict = WRONG;
  int attempt, bit;
  for (attempt = 0; attempt < RETRIES; attempt++) {
    if (attempt > 0) sqlite3_sleep(20);
    verdict = under->pMethods->xRead(under, page, file->pageBytes, offset) == SQLITE_OK
                  ? judge(file, page, number, &bit)
                  : WRONG;
    if (verdict == RIGHT || verdict == UNKNOWN) return 0;
  }
  if (verdict == ONE_BIT) noteWrongBit(file, number);
  return verdict != ONE_BIT;
}

/*
** page_scan(first, count): numbers of pages in the file that cannot be read or are damaged beyond a single-bit error,
** separated by commas; NULL without checksums. The log may have an intact version of such a page.
*/
static void pageScan(sqlite3_context *context, int argc, sqlite3_value **argv) {
  sqlite3 *db = sqlite3_context_db_handle(context);
  u32 number = (u32)sqlite3_value_int64(argv[0]);
  u32 last = number + (u32)sqlite3_value_int64(argv[1]) - 1;
  SumFile *file = mainFile(db);
  sqlite3_int64 size = 0;
  sqlite3_str *found;
  u8 page[MAX_PAGE];
  int bad = 0;
  (void)argc;
  if (file == 0 || file->pageBytes == 0 || sumFileSize(&file->base, &size) != SQLITE_OK) return;
  size /= file->pageBytes;
  if (last > size) last = (u32)size;
  found = sqlite3_str_new(db);
  for (; number <= last && bad < MAX_BAD; number++)
    if (isBad(file, page, number)) sqlite3_str_appendf(found, bad++ == 0 ? "%u" : ",%u", number);
  if (bad == 0) sqlite3_str_appendall(found, "");
  sqlite3_result_text(context, sqlite3_str_length(found) > 0 ? sqlite3_str_value(found) : "", -1, SQLITE_TRANSIENT);
  sqlite3_free(sqlite3_str_finish(found));
}

/* ---- 2. Single-bit errors ---- */

/*
** Returns the one bit (counted from the lowest of the first byte) whose change gives the page this sum; -1 if there is none,
** or more than one. From the end, each word is compared with the one that would lead to the sum if all others were
** correct, which costs as much as two sums. For a page of 4 KB with other damage these 512 words are like random, and 64
** of 2^64 values differ from the existing word in one bit: one in about 2^49 such pages is corrected wrongly.
*/
static int wrongBit(const u8 *page, int bytes, u32 number, u64 sum) {
  u64 lanes[4], alls[5], word, change, is, must;
  int lane, at, found = -1;
  sumLanes(page, bytes, number, lanes);
  alls[0] = (u64)bytes;
  for (lane = 0; lane < 4; lane++) alls[lane + 1] = withWord(alls[lane], lanes[lane]);
  for (lane = 3; lane >= 0; lane--) {
    is = lanes[lane];
    must = wordBetween(alls[lane], sum);
    for (at = bytes - 32 + lane * 8; at >= 0; at -= 32) {
      memcpy(&word, page + at, 8);
      is = withoutWord(is, word);
      change = wordBetween(is, must) ^ word;
      if (change != 0 && (change & (change - 1)) == 0) {
        if (found >= 0) return -1;
        found = at * 8 + __builtin_ctzll(change);
      }
      must = withoutWord(must, word);
    }
    sum = withoutWord(sum, lanes[lane]);
  }
  return found;
}

static sqlite3_int64 placeOfNote(u32 number) {
  return NOTES_AT + (sqlite3_int64)(number % NOTES * 2 * sizeof number);
}

/* Best effort: two pages may have the same place, and the other one is recorded when it is next read. */
static void noteWrongBit(SumFile *file, u32 number) {
  u32 note[2] = {number, ~number};
  if (pwrite(file->fd, note, sizeof note, placeOfNote(number)) < 0) return;
}

static void forgetWrongBit(SumFile *file, u32 number) {
  u32 note[2] = {0, 0};
  if (pread(file->fd, note, sizeof note, placeOfNote(number)) != sizeof note || note[0] != number) return;
  memset(note, 0, sizeof note);
  if (pwrite(file->fd, note, sizeof note, placeOfNote(number)) < 0) return;
}

static void flip(u8 *page, int bit) { page[bit >> 3] ^= (u8)(1 << (bit & 7)); }

/* page_wrong_bit(content, number, entry): the bit, see wrongBit; NULL for none, or if the entry is not valid. */
static void pageWrongBit(sqlite3_context *context, int argc, sqlite3_value **argv) {
  Entry entry;
  u32 number;
  int bytes;
  const u8 *page = pageAndEntry(argv, &bytes, &number, &entry);
  int bit = page == 0 ? -1 : wrongBit(page, bytes, number, entry.sum);
  (void)argc;
  if (bit >= 0) sqlite3_result_int(context, bit);
}

/* pages_with_wrong_bit(): numbers of the recorded pages, separated by commas; NULL without checksums. */
static void pagesWithWrongBit(sqlite3_context *context, int argc, sqlite3_value **argv) {
  sqlite3 *db = sqlite3_context_db_handle(context);
  SumFile *file = mainFile(db);
  u32 notes[NOTES][2];
  sqlite3_str *found;
  int i, count = 0;
  (void)argc, (void)argv;
  if (file == 0 || pread(file->fd, notes, sizeof notes, NOTES_AT) != sizeof notes) return;
  found = sqlite3_str_new(db);
  for (i = 0; i < NOTES; i++)
    if (notes[i][0] == ~notes[i][1]) sqlite3_str_appendf(found, count++ == 0 ? "%u" : ",%u", notes[i][0]);
  sqlite3_result_text(context, count > 0 ? sqlite3_str_value(found) : "", -1, SQLITE_TRANSIENT);
  sqlite3_free(sqlite3_str_finish(found));
}

/*
** page_put_right(number): corrects a single-bit error in the file, syncs it, and removes its record. Returns 1 if it did,
** 0 if the page is correct (it was written again), NULL if there is more damage. No checkpoint may run meanwhile. A kill
** at any moment leaves the page as it was, or correct: one byte is written.
*/
static void pagePutRight(sqlite3_context *context, int argc, sqlite3_value **argv) {
  SumFile *file = mainFile(sqlite3_context_db_handle(context));
  u32 number = (u32)sqlite3_value_int64(argv[0]);
  sqlite3_file *under;
  sqlite3_int64 offset;
  u8 page[MAX_PAGE];
  Verdict verdict;
  int bit = 0, rc;
  (void)argc;
  if (file == 0 || file->pageBytes == 0 || number == 0) return;
  under = fileBelow(&file->base);
  offset = (sqlite3_int64)(number - 1) * file->pageBytes;
  rc = under->pMethods->xRead(under, page, file->pageBytes, offset);
  verdict = rc == SQLITE_OK ? judge(file, page, number, &bit) : RIGHT;
  if (verdict == ONE_BIT) {
    flip(page, bit);
    rc = under->pMethods->xWrite(under, page + (bit >> 3), 1, offset + (bit >> 3));
    if (rc == SQLITE_OK) rc = under->pMethods->xSync(under, SQLITE_SYNC_NORMAL);
  }
  /* it does not exist any more */
  if (rc == SQLITE_IOERR_SHORT_READ) rc = SQLITE_OK;
  if (rc != SQLITE_OK) {
    sqlite3_result_error_code(context, rc);
    return;
  }
  forgetWrongBit(file, number);
  if (verdict != WRONG) sqlite3_result_int(context, verdict == ONE_BIT);
}

/* ---- 3. Unused parts of pages ---- */

static u32 readU16(const u8 *at) { return (u32)at[0] << 8 | at[1]; }

/* Returns 1 for a pointer map page: https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages */
static int isPointerMap(u32 number, int bytes) {
  u32 covered = (u32)bytes / 5 + 1;
  u32 lockPage = 0x40000000u / (u32)bytes + 1;
  u32 map = number < 2 ? 0 : (number - 2) / covered * covered + 2;
  return number == (map == lockPage ? map + 1 : map);
}

/*
** Returns a page of a table or index with zeros between its cell pointers and its first cell, made in `copy`; any other
** page unchanged. SQLite leaves old cells there when it moves rows between pages, also with secure_delete (rebuildPage in
** its btree.c), so erased data would stay in the file. Layout: https://sqlite.org/fileformat2.html#b_tree_pages
*/
static const u8 *withoutGap(const u8 *page, int bytes, u32 number, u8 *copy) {
  const u8 *header = number == 1 ? page + 100 : page;
  int isLeaf = header[0] == 10 || header[0] == 13;
  u32 cells, from, to, i;
  if ((!isLeaf && header[0] != 2 && header[0] != 5) || isPointerMap(number, bytes)) return page;
  cells = readU16(header + 3);
  to = readU16(header + 5);
  if (to == 0) to = MAX_PAGE;
  from = (u32)(header - page) + (isLeaf ? 8 : 12) + 2 * cells;
  if (to > (u32)bytes || from >= to) return page;
  for (i = from - 2 * cells; i < from; i += 2)
    if (readU16(page + i) < to || readU16(page + i) >= (u32)bytes) return page;
  memcpy(copy, page, bytes);
  memset(copy + from, 0, to - from);
  return copy;
}

/* ---- 4. The write-ahead log ---- */

/*
** The write-ahead log is synced by fdatasync(), which this build of SQLite does not use: fsync() also writes the time of
** the last change, which costs a journal commit of the file system and as many bytes again for each transaction. The log
** keeps its size from one checkpoint to the next. A second descriptor is safe, because SQLite locks no byte of the log.
*/
typedef struct LogFile {
  sqlite3_file base;
  int fd;
  int isEntered; /* its directory entry is on the disk, by the first sync of the VFS below */
} LogFile;

static int logRead(sqlite3_file *file, void *to, int bytes, sqlite3_int64 offset) {
  BELOW(xRead(under, to, bytes, offset));
}
static int logWrite(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 offset) {
  BELOW(xWrite(under, from, bytes, offset));
}
static int logTruncate(sqlite3_file *file, sqlite3_int64 size) { BELOW(xTruncate(under, size)); }
static int logCharacteristics(sqlite3_file *file) { BELOW(xDeviceCharacteristics(under)); }

static int logSync(sqlite3_file *pFile, int flags) {
  LogFile *file = (LogFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  int rc;
  if (file->isEntered) return fdatasync(file->fd) == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
  rc = under->pMethods->xSync(under, flags);
  file->isEntered = rc == SQLITE_OK && file->fd >= 0;
  return rc;
}

static int logClose(sqlite3_file *pFile) {
  LogFile *file = (LogFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  if (file->fd >= 0) close(file->fd);
  return under->pMethods->xClose(under);
}

static const sqlite3_io_methods logMethods = {
  1, logClose, logRead, logWrite, logTruncate, logSync, sumFileSize, sumLock, sumUnlock, sumCheckReserved,
  sumFileControl, sumSectorSize, logCharacteristics, 0, 0, 0, 0, 0, 0
};

static int openLog(const char *name, sqlite3_file *pFile, int flags, int *outFlags) {
  LogFile *file = (LogFile *)pFile;
  int rc = below->xOpen(below, name, fileBelow(pFile), flags, outFlags);
  file->isEntered = 0;
  file->fd = rc == SQLITE_OK ? open(name, O_RDWR | O_CLOEXEC) : -1;
  file->base.pMethods = rc == SQLITE_OK ? &logMethods : 0;
  return rc;
}

/* ---- 5. Memory ---- */

/* Only glibc has it. */
__attribute__((weak)) int malloc_trim(size_t pad);

/*
** give_back_memory(): returns freed memory to the system. glibc keeps it in each thread's pool for as long as anything
** above it is in use. It is here because this is the only C of the program.
*/
static void giveBackMemory(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_int(context, malloc_trim != 0 && malloc_trim(0) != 0);
}

/* ---- What SQLite loads and opens ---- */

/* Returns the descriptor of the file of checksums; -1 if there is none. */
static int openSums(const char *name) {
  char *path = sqlite3_mprintf("%s-sums", name);
  int fd;
  if (path == 0) return -1;
  fd = open(path, O_RDWR | O_CLOEXEC);
  sqlite3_free(path);
  return fd;
}

static int sumOpen(sqlite3_vfs *vfs, const char *name, sqlite3_file *pFile, int flags, int *outFlags) {
  SumFile *file = (SumFile *)pFile;
  sqlite3_file *under = fileBelow(pFile);
  int fd = name != 0 && (flags & SQLITE_OPEN_MAIN_DB) ? openSums(name) : -1;
  int rc;
  (void)vfs;
  if (name != 0 && (flags & SQLITE_OPEN_WAL)) return openLog(name, pFile, flags, outFlags);
  if (fd < 0) return below->xOpen(below, name, pFile, flags, outFlags);
  memset(file, 0, sizeof *file);
  file->fd = fd;
  file->pageBytes = readSize(fd);
  rc = below->xOpen(below, name, under, flags, outFlags);
  if (rc == SQLITE_OK && under->pMethods->iVersion >= 3) {
    file->base.pMethods = &methods;
    return SQLITE_OK;
  }
  if (under->pMethods != 0) under->pMethods->xClose(under);
  close(fd);
  file->base.pMethods = 0;
  return rc == SQLITE_OK ? SQLITE_CANTOPEN : rc;
}

static int addFunctions(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
  static const struct {
    const char *name;
    int arguments;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
  } functions[] = {
    {"page_is_right", 3, pageIsRight},
    {"page_wrong_bit", 3, pageWrongBit},
    {"pages_with_wrong_bit", 0, pagesWithWrongBit},
    {"page_put_right", 1, pagePutRight},
    {"page_content", 1, pageContent},
    {"page_checks", 1, pageChecks},
    {"page_scan", 2, pageScan},
    {"give_back_memory", 0, giveBackMemory},
  };
  const int direct = SQLITE_UTF8 | SQLITE_DIRECTONLY;
  int rc = SQLITE_OK;
  size_t i;
  (void)error, (void)api;
  for (i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
    rc = sqlite3_create_function(db, functions[i].name, functions[i].arguments, direct, 0, functions[i].call, 0, 0);
  return rc;
}

/* Registers the VFS for every connection that any thread of the process opens afterwards. */
__attribute__((visibility("default")))
int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
  int rc;
  SQLITE_EXTENSION_INIT2(api);
  rc = addFunctions(db, error, api);
  if (rc != SQLITE_OK || sqlite3_vfs_find("page-sums") != 0) return rc;
  below = sqlite3_vfs_find(0);
  shim = *below;
  shim.pNext = 0;
  shim.zName = "page-sums";
  shim.szOsFile = below->szOsFile + (int)sizeof(SumFile);
  shim.xOpen = sumOpen;
  rc = sqlite3_vfs_register(&shim, 1);
  if (rc == SQLITE_OK) rc = sqlite3_auto_extension((void (*)(void))addFunctions);
  return rc == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : rc;
}
