import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDiskLog } from './log.ts'

test('records are read with their names and bytes', () => {
  const log = Buffer.concat([record('o', 5, 3, 'cartbarn.db'), record('w', 5, 4096, '', 'page'), record('c', 5)])
  assert.deepEqual(readDiskLog(log), [
    { kind: 'open', fd: 5, name: 'cartbarn.db', creates: true, truncates: true },
    { kind: 'write', fd: 5, offset: 4096, bytes: Buffer.from('page') },
    { kind: 'close', fd: 5 },
  ])
})

test('a rename is read with both names', () => {
  assert.deepEqual(readDiskLog(record('r', -1, 0, 'a-next', 'a')), [{ kind: 'rename', name: 'a-next', to: 'a' }])
})

test('a record the process was killed in is left out', () => {
  const log = Buffer.concat([record('c', 5), record('w', 5, 0, '', 'page')])
  for (let cut = 1; cut < 28; cut++) assert.equal(readDiskLog(log.subarray(0, -cut)).length, 1)
})

test('what cannot be replayed is refused', () => {
  assert.throws(() => readDiskLog(record('x', -1, 0, 'link')), /link/)
  assert.throws(() => readDiskLog(record('u', -1, 0, 'folder/file')), /folder\/file/)
  assert.throws(() => readDiskLog(record('r', -1, 0, 'file', 'folder/file')), /folder\/file/)
})

function record(kind: string, fd: number, value = 0, name = '', data = ''): Buffer {
  const head = Buffer.alloc(24)
  head.write(kind)
  head.writeInt32LE(fd, 4)
  head.writeBigUInt64LE(BigInt(value), 8)
  head.writeUInt32LE(name.length, 16)
  head.writeUInt32LE(data.length, 20)
  return Buffer.concat([head, Buffer.from(name + data)])
}
