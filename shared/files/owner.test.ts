import assert from 'node:assert/strict'
import { chownSync, linkSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { changeOwner } from './owner.ts'

const OWNER = 54_321
const skip = process.getuid?.() === 0 ? false : 'only root can give files away'

test('what root has made in a folder of another user is given to that user, and nothing elsewhere', {
  skip,
}, (t) => {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-owner-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const [folder, elsewhere] = [join(root, 'data'), join(root, 'elsewhere')]
  for (const path of [folder, join(folder, 'kept'), elsewhere]) mkdirSync(path)
  for (const path of ['data/a', 'data/kept/b', 'data/theirs', 'elsewhere/c', 'elsewhere/d'])
    writeFileSync(join(root, path), '')
  chownSync(join(folder, 'theirs'), OWNER + 1, OWNER + 1)
  symlinkSync(elsewhere, join(folder, 'link'))
  symlinkSync(join(elsewhere, 'c'), join(folder, 'file-link'))
  linkSync(join(elsewhere, 'd'), join(folder, 'second-name'))
  const uidOf = (path: string) => lstatSync(join(root, path)).uid

  changeOwner(folder)
  assert.equal(uidOf('data/a'), 0, 'the folder is of root')
  chownSync(folder, OWNER, OWNER)
  changeOwner(folder)
  assert.deepEqual(['data/a', 'data/kept', 'data/kept/b'].map(uidOf), [OWNER, OWNER, OWNER])
  assert.equal(uidOf('data/theirs'), OWNER + 1)
  assert.deepEqual(['elsewhere', 'elsewhere/c', 'elsewhere/d'].map(uidOf), [0, 0, 0])
})
