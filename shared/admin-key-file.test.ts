import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { AdminKeyFile } from './admin-key-file.ts'

test('concurrent writers without an existing key all get the first key', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-key-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [one, other] = [new AdminKeyFile(folder), new AdminKeyFile(folder)]
  assert.deepEqual([one.writeIfNone('first'), other.writeIfNone('second'), one.read()], ['first', 'first', 'first'])
  other.write('third')
  assert.equal(one.read(), 'third')
  assert.deepEqual(readdirSync(folder), ['admin-key.txt'])
})
