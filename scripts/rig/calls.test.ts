import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { eventually } from '#shared/testing/eventually.ts'
import { ForkedScript } from './calls.ts'
import { Workbench } from './processes.ts'

const RIG = new URL('.', import.meta.url)

/** Functions of the script; it is written below, as it runs in its own process. */
type Script = {
  add(a: number, b: number): number
  hold(): Promise<never>
  fail(): never
}

const SCRIPT = `
  import { answerCalls } from '${RIG}calls.ts'
  answerCalls({
    add: (a, b) => a + b,
    hold: () => new Promise(() => setInterval(() => undefined, 1000)),
    fail: () => { throw new Error('out of order') },
  })
`

function createBench(t: TestContext): { bench: Workbench; script: URL } {
  const bench = new Workbench()
  t.after(() => bench.clear())
  return { bench, script: writeScript(bench, SCRIPT) }
}

function writeScript(bench: Workbench, text: string): URL {
  const path = join(bench.createFolder('script'), 'script.mjs')
  writeFileSync(path, text)
  return pathToFileURL(path)
}

test('each call gets its own answer, even one that JSON does not know', async (t) => {
  const { bench, script } = createBench(t)
  const forked = new ForkedScript<Script>(bench, script)
  const sums = [forked.call('add', 1, 2), forked.call('add', 3, 4), forked.call('add', Number.NaN, 0)]
  assert.deepEqual(await Promise.all(sums), [3, 7, Number.NaN])
  await forked.stop()
})

test('a function that throws ends the process, and its reason is why all that waits is rejected', async (t) => {
  const { bench, script } = createBench(t)
  const forked = new ForkedScript<Script>(bench, script)
  const held = forked.call('hold')
  forked.post('fail')
  await assert.rejects(held, /script ended before hold: out of order/)
})

test('a call that is not answered in time is rejected', async (t) => {
  const { bench, script } = createBench(t)
  const forked = new ForkedScript<Script>(bench, script, 500)
  await assert.rejects(forked.call('hold'), /script: no hold in 500 ms/)
})

test('the process ends when its parent is killed', async (t) => {
  const { bench, script } = createBench(t)
  const parentScript = `
    import { ForkedScript } from '${RIG}calls.ts'
    import { Workbench } from '${RIG}processes.ts'
    const forked = new ForkedScript(new Workbench(), new URL('${script}'))
    await forked.call('add', 1, 2)
    forked.post('hold')
    console.log(forked.pid)
  `
  const parentFile = writeScript(bench, parentScript).pathname
  const parent = bench.spawn('parent', process.execPath, [parentFile])
  const pid = await parent.take('pid', 10_000, Number)
  assert.ok(isRunning(pid))
  await parent.stop('SIGKILL')
  await eventually(() => !isRunning(pid), 'the end of the script')
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
