import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { fileLines } from './file-lines.ts'

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(bytes: Uint8Array, size = 7): Promise<string[]> {
  const lines: string[] = []
  for await (const line of fileLines(inPieces(bytes, size))) lines.push(line)
  return lines
}

test('lines are read as they were written, however the bytes are cut', async () => {
  const lines = ['one', '', 'grün', 'x'.repeat(70_000)]
  for (const size of [1, 7, 4096]) assert.deepEqual(await read(gzipSync(`${lines.join('\n')}\n`), size), lines)
})

test('data that is not gzip, or is truncated, is rejected', async () => {
  const whole = gzipSync('one\ntwo\n')
  for (const bytes of [Buffer.from('{"head":{}}\n'), whole.subarray(0, whole.length - 9), Buffer.alloc(0)])
    await assert.rejects(read(bytes), { code: 'invalid_file' })
})

test('a last line without its end is rejected', async () => {
  await assert.rejects(read(gzipSync('one\ntwo')), { code: 'invalid_file' })
})

test('a line of gigabytes is rejected before it is in memory', async () => {
  const bomb = gzipSync(Buffer.alloc(64 << 20, 'x'))
  await assert.rejects(read(bomb, 65_536), { code: 'invalid_file', message: 'a line is too long' })
})
