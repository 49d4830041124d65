import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { STATEMENTS } from '#testing/mqtt-statements.ts'

const GATEWAY = join(import.meta.dirname, '../..')

/** Returns the ids at the beginning of test titles: the requirements that tests prove. */
function provenIds(): Set<string> {
  const ids = new Set<string>()
  for (const file of globSync('**/*.test.ts', { cwd: GATEWAY })) {
    const source = readFileSync(join(GATEWAY, file), 'utf8')
    for (const [name] of source.matchAll(/['"`]\[MQTT-[^'"`]*/g)) {
      const [head] = /^.(\[MQTT-[\d.]+-\d+\] )+/.exec(name) ?? ['']
      for (const id of idsIn(head)) ids.add(id)
    }
  }
  return ids
}

function idsIn(text: string): string[] {
  return Array.from(text.matchAll(/\[MQTT-([\d.]+-\d+)\]/g), ([, id = '']) => id)
}

const proven = provenIds()
const ofServer = Object.entries(STATEMENTS).filter(([, { binds }]) => binds !== 'client')

test('all 141 statements of the standard are listed', () => {
  const bySection = new Map<string, number>()
  for (const id of Object.keys(STATEMENTS)) {
    const [section = '', number] = id.split('-')
    // each section counts from 1
    assert.equal(Number(number), (bySection.get(section) ?? 0) + 1, id)
    bySection.set(section, Number(number))
  }
  assert.equal(Object.keys(STATEMENTS).length, 141)
})

test('every statement that binds a server has a test that names it, or a reason for having none', () => {
  const missing = ofServer.filter(([id, { untested }]) => !proven.has(id) && untested === undefined)
  assert.deepEqual(
    missing.map(([id]) => id),
    [],
  )
})

test('no statement with a test is listed as untested', () => {
  const both = Object.entries(STATEMENTS).filter(([id, { untested }]) => untested !== undefined && proven.has(id))
  assert.deepEqual(
    both.map(([id]) => id),
    [],
  )
})

test('no file names a statement that does not exist in the standard', () => {
  const unknown = globSync('**/*.ts', { cwd: GATEWAY, exclude: ['testing/mqtt-statements.ts'] }).flatMap((file) =>
    idsIn(readFileSync(join(GATEWAY, file), 'utf8'))
      .filter((id) => STATEMENTS[id] === undefined)
      .map((id) => `${file}: ${id}`),
  )
  assert.deepEqual(unknown, [])
})
