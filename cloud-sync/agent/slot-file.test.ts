import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { SlotFile } from './slot-file.ts'

function slotPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-slots-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'record.slots')
}

const textSchema = z.string()

async function reread(path: string): Promise<string | undefined> {
  return new SlotFile(path, textSchema).read()
}

test('a write is on the disk when its promise resolves, also with concurrent writers', async (t) => {
  const path = slotPath(t)
  const file = new SlotFile(path, textSchema)
  const onDisk: (string | undefined)[] = []
  const write = async (content: string) => {
    await file.write(content)
    onDisk.push(await reread(path))
  }
  await Promise.all(['a', 'b', 'c', 'd'].map(write))
  assert.deepEqual([onDisk.length, onDisk.slice(1)], [4, ['d', 'd', 'd']])
  await file.close()
})

test('a write cut off at any point leaves the previous record', async (t) => {
  const path = slotPath(t)
  const file = new SlotFile(path, textSchema)
  await file.write('the old one, which is é and longer')
  const before = readFileSync(path)
  await file.write('the new one')
  await file.close()
  const after = readFileSync(path)
  const changed = [...after.keys()].filter((at) => after[at] !== before[at])
  const [first = 0, last = 0] = [changed[0], changed.at(-1)]
  for (let end = first; end <= last; end++) {
    writeFileSync(path, Buffer.concat([after.subarray(0, end), before.subarray(end)]))
    const isWhole = changed.every((at) => at < end)
    assert.equal(await reread(path), isWhole ? 'the new one' : 'the old one, which is é and longer')
  }
})

test('the next writer continues after the last record, in a file that does not grow', async (t) => {
  const path = slotPath(t)
  for (const content of ['one', 'two', 'three', 'four']) {
    const file = new SlotFile(path, textSchema)
    await file.read()
    await file.write(content)
    await file.close()
    assert.equal(await reread(path), content)
  }
  assert.equal(statSync(path).size, 524_288)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('an empty file, random bytes, a record of another kind and one that is too large are ignored', async (t) => {
  const path = slotPath(t)
  assert.equal(await reread(path), undefined)
  for (const noise of ['', 'x', `${'0'.repeat(64)} 1 5\nhello`, '{"a":1}']) {
    writeFileSync(path, noise)
    assert.equal(await reread(path), undefined)
  }
  const file = new SlotFile(path, textSchema)
  await file.write('good')
  await assert.rejects(file.write('x'.repeat(300_000)), RangeError)
  await file.close()
  assert.equal(await new SlotFile(path, z.number()).read(), undefined)
  assert.equal(await reread(path), 'good')
})
