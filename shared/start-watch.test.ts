import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { watchStartup } from './start-watch.ts'

const WATCH = JSON.stringify(new URL('./start-watch.ts', import.meta.url).href)

/** Runs a program in a process of its own; resolves when it has ended. */
async function run(program: string): Promise<{ code: number | null; signal: string | null; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-start-'))
  const path = join(folder, 'program.mjs')
  writeFileSync(path, `import { watchStartup } from ${WATCH}\n${program}`)
  const child = spawn(process.execPath, [path], { stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 })
  const stderr = text(child.stderr)
  const [code, signal] = await once(child, 'exit')
  rmSync(folder, { recursive: true })
  return { code, signal, stderr: await stderr }
}

test('a start whose main thread hangs ends with a sentence', async () => {
  const hangs = `watchStartup(500); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`
  const { signal, stderr } = await run(hangs)
  assert.equal(signal, 'SIGKILL')
  assert.match(stderr, /^cartbarn: the start hung: .*\. Start the program again\.$/m)
})

test('a start that waits for something that never comes ends with a sentence', async () => {
  const { signal, stderr } = await run('watchStartup(500); await new Promise(() => undefined)')
  assert.equal(signal, 'SIGKILL')
  assert.match(stderr, /the start hung/)
})

test('a start that works for longer than that is left alone, and so is a program that has started', async () => {
  const works = `
    const end = watchStartup(1200)
    const until = performance.now() + 3000
    while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve))
    await end()
    await new Promise((resolve) => setTimeout(resolve, 1800))`
  assert.deepEqual(await run(works), { code: 0, signal: null, stderr: '' })
})

test('the watch may be ended twice', async () => {
  const end = watchStartup()
  await end()
  await end()
})
