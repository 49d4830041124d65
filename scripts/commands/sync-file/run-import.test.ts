import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { NO_CURSOR, SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import { runSyncImport } from './run-import.ts'

const cursors = Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, NO_CURSOR]))
const head = {
  cartbarn_sync: 1,
  site: 'links',
  epoch: 'a'.repeat(32),
  forked_from: null,
  program: 'test',
  exported_at_ms: 0,
  ends: Object.fromEntries(SYNC_STREAMS.map((stream) => [stream, 0])),
  cursors,
}
const WHOLE = `${JSON.stringify({ head })}\n${JSON.stringify({ end: { parts: 0, rows: 0, cursors } })}\n`
// no hub is listening there: a fault in a file is reported before any request
const HUB = ['--hub', 'http://127.0.0.1:9', '--key', 'k']

async function run(bytes: Uint8Array): Promise<[code: number, output: string]> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-import-'))
  const stderr = new PassThrough()
  try {
    writeFileSync(join(folder, 'a.gz'), bytes)
    const io = {
      env: {},
      folder,
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr,
      signal: new AbortController().signal,
    }
    const code = await runSyncImport(['a.gz', ...HUB], io)
    return [code, String(stderr.read())]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a complete file is sent to the hub', async () => {
  assert.match((await run(gzipSync(WHOLE)))[1], /no answer from http:\/\/127\.0\.0\.1:9/)
})

test('a file that is truncated anywhere, or has data after its end, is not sent at all', async () => {
  const bytes = gzipSync(WHOLE)
  for (let length = 0; length < bytes.length; length += 7) {
    const [code, output] = await run(bytes.subarray(0, length))
    assert.equal(code, 1)
    assert.match(output, /is not a (complete )?file of sync:export/, `${length} of ${bytes.length} bytes`)
  }
  assert.match((await run(gzipSync(WHOLE.slice(0, -40))))[1], /is not a complete file/)
  assert.match((await run(gzipSync(`${WHOLE}{}\n`)))[1], /is not a complete file/)
})

test('a file of another format is not sent', async () => {
  assert.match((await run(Buffer.from(WHOLE)))[1], /is not a complete file/)
  assert.match((await run(gzipSync('{"head":{}}\n')))[1], /is not a file/)
})
