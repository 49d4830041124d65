/** Operation of a recorded process on a file of its folder; `name` is '' for the folder itself. */
export type DiskRecord =
  | { kind: 'open'; fd: number; name: string; creates: boolean; truncates: boolean }
  | { kind: 'close'; fd: number }
  | { kind: 'write'; fd: number; offset: number; bytes: Buffer }
  | { kind: 'truncate'; fd: number; size: number }
  | { kind: 'syncStarted'; fd: number; sync: number }
  | { kind: 'synced'; fd: number; sync: number }
  | { kind: 'unlink'; name: string }
  | { kind: 'rename'; name: string; to: string }

/** Length and offsets of `struct record` in recorder.c. */
const HEAD_BYTES = 24
const FD_AT = 4
const VALUE_AT = 8
const NAME_LENGTH_AT = 16
const DATA_LENGTH_AT = 20
const CREATES = 1
const TRUNCATES = 2

/**
 * Parses the log of recorder.c, oldest first. An incomplete last record is omitted: the process was killed before doing
 * what it recorded. Throws on calls that cannot be replayed. Written bytes are a view of `log`.
 */
export function readDiskLog(log: Buffer): DiskRecord[] {
  const records: DiskRecord[] = []
  for (let at = 0; at + HEAD_BYTES <= log.length; ) {
    const nameAt = at + HEAD_BYTES
    const bytesAt = nameAt + log.readUInt32LE(at + NAME_LENGTH_AT)
    const end = bytesAt + log.readUInt32LE(at + DATA_LENGTH_AT)
    if (end > log.length) break
    const name = log.toString('utf8', nameAt, bytesAt)
    records.push(readRecord(log.subarray(at, nameAt), name, log.subarray(bytesAt, end)))
    at = end
  }
  return records
}

function readRecord(head: Buffer, name: string, bytes: Buffer): DiskRecord {
  const kind = String.fromCharCode(head[0] ?? 0)
  const fd = head.readInt32LE(FD_AT)
  const value = Number(head.readBigUInt64LE(VALUE_AT))
  nameWithin(name)
  switch (kind) {
    case 'o':
      return {
        kind: 'open',
        fd,
        name,
        creates: (value & CREATES) !== 0,
        truncates: (value & TRUNCATES) !== 0,
      }
    case 'c':
      return { kind: 'close', fd }
    case 'w':
      return { kind: 'write', fd, offset: value, bytes }
    case 't':
      return { kind: 'truncate', fd, size: value }
    case 's':
      return { kind: 'syncStarted', fd, sync: value }
    case 'd':
      return { kind: 'synced', fd, sync: value }
    case 'u':
      return { kind: 'unlink', name }
    case 'r':
      return { kind: 'rename', name, to: nameWithin(bytes.toString()) }
    default:
      throw new Error(`the process made a call that cannot be replayed: ${name || kind}`)
  }
}

function nameWithin(name: string): string {
  if (name.includes('/')) throw new Error(`a folder within the data folder cannot be replayed: ${name}`)
  return name
}
