import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { JsonFile } from './json-file.ts'

test('a write is on the disk when its promise resolves, also with concurrent writers', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-json-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'sync.json')
  const file = new JsonFile(folder, 'sync.json', z.number())
  const onDisk: number[] = []
  const write = async (content: number) => {
    await file.write(content)
    onDisk.push(Number(readFileSync(path, 'utf8')))
  }
  await Promise.all([write(1), write(2), write(3), write(4)])
  assert.deepEqual([onDisk.length, onDisk.slice(1)], [4, [4, 4, 4]])
  assert.equal(await file.read(), 4)
})

test('without a folder the file stores no data', async () => {
  const file = new JsonFile(undefined, 'sync.json', z.number())
  await file.write(1)
  assert.equal(await file.read(), undefined)
})
